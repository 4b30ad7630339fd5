// dove secret set, list, remove, rotate-key: values that tasks get and nobody is shown.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/endpoint.h"
#include "cli/client/pages.h"
#include "cli/client/views.h"
#include "cli/families.h"
#include "cli/terminal/hidden_input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "files/text_file.h"
#include "wire/tls/sealed_box.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kValueBytesMax = 64 << 10;

std::string target_of(const Invocation& invocation, const std::string& name) {
  std::string target = "/v1/secrets/" + wire::percent_encode(name);
  char mark = '?';
  for (const char* owner : {"project", "user"}) {
    if (!invocation.has(owner)) continue;
    target += fmt::format("{}{}={}", mark, owner, wire::percent_encode(invocation.get(owner)));
    mark = '&';
  }
  return target;
}

// From a file, from standard input, or typed where nobody sees it.
Result<std::string> value_of(const Invocation& invocation) {
  const std::string from = invocation.get("from-file");
  if (!from.empty() && from != "-") return files::read_text(from, kValueBytesMax);
  if (from.empty() && ::isatty(STDIN_FILENO) != 0) {
    return ask_hidden(fmt::format("value of {}: ", invocation.operands[0]));
  }
  // One byte more than is allowed says that there is too much.
  std::string value(kValueBytesMax + 1, '\0');
  std::cin.read(value.data(), static_cast<std::streamsize>(value.size()));
  value.resize(static_cast<std::size_t>(std::cin.gcount()));
  if (value.size() <= kValueBytesMax) return value;
  return Error{ErrorKind::kTooLarge, "secret_too_large",
               fmt::format("a secret has at most {} bytes, and this is more", kValueBytesMax), ""};
}

Result<int> run_set(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(std::string value, value_of(invocation));
  if (value.empty()) return usage_error("the value is empty, and nothing is set");
  const bool has_line_end = value.ends_with('\n');
  const Result<json> answer =
      api.send_bytes(target_of(invocation, invocation.operands[0]), value, "PUT");
  wire::wipe(value);
  if (!answer.ok()) return answer.error();
  const std::string project = text_of(*answer, "project");
  print(fmt::format("secret {} of {} is set\n", invocation.operands[0],
                    project.empty() ? "user " + text_of(*answer, "user") : "project " + project));
  if (has_line_end) {
    say("the value ends with a newline, which is kept as part of it; `printf %s` writes none");
  }
  return kExitOk;
}

Result<int> run_list(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  const std::string target =
      invocation.has("project")
          ? "/v1/secrets?project=" + wire::percent_encode(invocation.get("project"))
          : "/v1/secrets";
  TRY_ASSIGN(const json answer, get_all(api, target, "secrets"));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  Table table({{"NAME"}, {"USER"}, {"SET"}});
  for (const json& secret : list_of(answer, "secrets")) {
    const std::string project = text_of(secret, "project");
    const std::string name = (project.empty() ? "" : project + "/") + text_of(secret, "name");
    if (format == Format::kName) print(name + "\n");
    table.add({{name, ""},
               {text_of(secret, "user"), ""},
               {when_text(number_of(secret, "set_at_us")), ""}});
  }
  if (format == Format::kName) return kExitOk;
  if (table.empty()) {
    say("no secrets: `dove secret set NAME` keeps one");
  } else {
    print(table.text(colours_on()));
  }
  return kExitOk;
}

Result<int> run_remove(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  for (const std::string& name : invocation.operands) {
    TRY(api.send("DELETE", target_of(invocation, name), json()));
    print(fmt::format("secret {} is removed; tasks that run keep what they have\n", name));
  }
  return kExitOk;
}

Result<int> run_rotate_key(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.send("POST", "/v1/secret-keys", json()));
  print(fmt::format("{} secrets are sealed with a new key, and the former one is gone\n",
                    number_of(answer, "resealed")));
  return kExitOk;
}

CommandSpec spec_of(const char* name, const char* summary) {
  CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.group = "People";
  return spec;
}

}  // namespace

std::vector<Command> secret_commands() {
  const OptionSpec project{"project", 0, "PROJECT", "of this project; its managers only"};
  const OptionSpec user{"user", 0, "USER", "of somebody else; administrators only"};
  CommandSpec set = spec_of("secret set", "Store a value that your tasks get and nobody is shown");
  set.operands = "NAME";
  set.operands_min = set.operands_max = 1;
  set.description =
      "The value is typed, or comes from a file or from standard input, as it is. A job names the\n"
      "secret (`--secret NAME=VARIABLE`, `--secret NAME:FILE`); docs/guide/secrets.md says more.";
  set.options = {
      {"from-file", 0, "FILE", "take the value from there; -: from standard input"}, project, user};
  CommandSpec list = spec_of("secret list", "List the secrets that your jobs may have");
  list.options = {{"project", 0, "PROJECT", "only of this project"}, output_option()};
  CommandSpec remove = spec_of("secret remove", "Remove secrets: no task gets them any more");
  remove.operands = "NAME...";
  remove.operands_min = 1;
  remove.operands_max = -1;
  remove.options = {project, user};
  CommandSpec rotate =
      spec_of("secret rotate-key", "Seal all secrets with a new key of the server");
  rotate.description =
      "For administrators. What is in the log and in earlier backups stays sealed with the\n"
      "former key: change every value that somebody with that key could have read.";
  return {{set, guarded("secret set", run_set)},
          {list, guarded("secret list", run_list)},
          {remove, guarded("secret remove", run_remove)},
          {rotate, guarded("secret rotate-key", run_rotate_key)}};
}

}  // namespace dove::cli
