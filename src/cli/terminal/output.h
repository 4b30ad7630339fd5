// The common part of all commands: -o, printing, ending with an exit code.
//
// Data goes to stdout, messages to stderr. Include only from .cc files of this part.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace dove::cli {

enum class Format { kTable, kWide, kJson, kYaml, kName };

// -o as given, `otherwise` without it. kInvalid names the known ones.
Result<Format> output_format(const Invocation& invocation, Format otherwise = Format::kTable);
OptionSpec output_option();
OptionSpec watch_option();
OptionSpec labels_option();  // of lists: entries that have all of them
// --url and --data, which every client command has.
std::vector<OptionSpec> server_options();

void print(const std::string& text);
// To stderr, with "dove: " and an end of line.
void say(const std::string& message);
// kJson: indented; else YAML.
void print_value(const nlohmann::json& value, Format format);

// The command's run(): errors become "dove COMMAND: message" on stderr and the exit code of their
// kind.
std::function<int(const Invocation&)> guarded(std::string name,
                                              std::function<Result<int>(const Invocation&)> body);

// Calls `render` once, or with --watch again every --watch seconds on a cleared screen until
// interrupted.
Result<int> repeat(const Invocation& invocation, const std::function<Result<int>()>& render);

// {"detail": "..."} members as the reader wants them: absent or of another type is "" or 0.
std::string text_of(const nlohmann::json& object, const char* name);
std::int64_t number_of(const nlohmann::json& object, const char* name, std::int64_t otherwise = 0);
bool flag_of(const nlohmann::json& object, const char* name);
// The named array, or an empty one. The reference lives as long as `object`.
const nlohmann::json& list_of(const nlohmann::json& object, const char* name);

Error usage_error(std::string message);

// The words of "a,b,,c" without the empty ones.
std::vector<std::string> comma_list(const std::string& text);

}  // namespace dove::cli
