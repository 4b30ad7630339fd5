// Texts that are generated from the table of commands: the overview, the man page,
// docs/guide/cli.md and the completion of shells. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace dove::cli {

// What `dove --help` prints.
std::string overview_text(const std::vector<Command>& commands);
// What the words `prefix` begin ("tcloud", "token"): their commands.
std::string family_text(const std::vector<Command>& commands, const std::string& prefix);

// roff of all commands, or of one.
std::string man_page(const std::vector<Command>& commands);
std::string man_page(const CommandSpec& spec);

// One command's section of docs/guide/cli.md, and the whole page.
std::string markdown_section(const CommandSpec& spec);
std::string markdown_page(const std::vector<Command>& commands);

std::string bash_completion(const std::vector<Command>& commands,
                            const std::vector<std::string>& faces);
std::string fish_completion(const std::vector<Command>& commands,
                            const std::vector<std::string>& faces);
std::string zsh_completion(const std::vector<Command>& commands,
                           const std::vector<std::string>& faces);

}  // namespace dove::cli
