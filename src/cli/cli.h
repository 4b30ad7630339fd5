// The command line: run_cli() is what `dove` does once its program has named the commands that are
// not clients (server, agent, up, ...).
//
// Every command here is a client of the HTTP API and nothing else. Data goes to stdout, messages to
// stderr; exit codes are those of cli/command.h. There is one table of commands, `extra` included:
// help, man page, completion, docs/guide/cli.md and parsing come from it. Single thread; installs
// no signal handler except around commands that stream.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace dove::cli {

// Runs the command line and gives the exit code. argv[0] may be a face (tcloud, sbatch, squeue,
// scancel, sinfo, scontrol, srun, dove-rsh), which `dove FACE ...` is too. `extra` come before
// the own commands in listings, in their order.
int run_cli(const std::vector<Command>& extra, int argc, char** argv);

// The names under which a link to the program acts as another tool.
const std::vector<std::string>& face_names();

// The table of the client commands behind `extra`, as listings show it.
std::vector<Command> all_commands(const std::vector<Command>& extra = {});

// The version of this build: "0.1.0".
const char* version();

}  // namespace dove::cli
