// dove exec: a command in the world of a running task.
#include "cli/client/exec_client.h"
#include "cli/families.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

Result<int> run(const Invocation& invocation) {
  ExecWanted wanted;
  protocol::ExecProgram& program = wanted.wish.program;
  wanted.job = invocation.operands[0];
  auto first = invocation.operands.begin() + 1;
  if (first != invocation.operands.end() && *first == "--") ++first;
  program.command.assign(first, invocation.operands.end());
  if (program.command.empty()) return usage_error("which command? dove exec JOB -- COMMAND...");
  wanted.wish.task = invocation.get("task");
  program.terminal = invocation.has("tty");
  program.input = invocation.has("stdin");
  if (program.terminal) {
    const std::string term = environment_value("TERM");
    program.environment["TERM"] = term.empty() ? "xterm" : term;
  }
  TRY_ASSIGN(const Endpoint endpoint, find_endpoint(invocation));
  return run_exec("dove exec", endpoint, wanted);
}

}  // namespace

std::vector<Command> exec_commands() {
  CommandSpec exec;
  exec.name = "exec";
  exec.summary = "Run a command inside a running task";
  exec.group = "Jobs";
  exec.operands = "JOB -- COMMAND...";
  exec.completes = "job";
  exec.operands_min = 1;
  exec.operands_max = -1;
  exec.ends_at_operand = true;
  exec.description =
      "The command gets the task's user, environment, directory, limits and devices, and its\n"
      "container if the job has an image. For a shell: dove exec -it JOB -- bash. Exits as the\n"
      "command does: its code, or 128 plus its signal's number; 127 when it cannot be started.\n"
      "The command ends when this client, its connection or the task ends.";
  exec.options = {{"tty", 't', "", "give it a terminal"},
                  {"stdin", 'i', "", "pass on standard input; without it the command has none"},
                  {"task", 0, "TASK", "in this task: a rank, or GROUP/NUMBER (0)"}};
  return {{exec, guarded("exec", run)}};
}

}  // namespace dove::cli
