#include "cli/terminal/output.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "cli/terminal/yaml_text.h"
#include "text/spelling.h"
#include "text/words.h"

namespace dove::cli {

using nlohmann::json;

Result<Format> output_format(const Invocation& invocation, Format otherwise) {
  if (!invocation.has("output")) return otherwise;
  const std::string word = invocation.get("output");
  if (word == "table") return Format::kTable;
  if (word == "wide") return Format::kWide;
  if (word == "json") return Format::kJson;
  if (word == "yaml") return Format::kYaml;
  if (word == "name") return Format::kName;
  constexpr std::array<std::string_view, 5> kWords{"table", "wide", "json", "yaml", "name"};
  const std::string_view near = text::nearest(word, kWords);
  return usage_error(fmt::format("unknown format '{}': -o takes table, wide, json, yaml or name{}",
                                 word,
                                 near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

OptionSpec output_option() { return {"output", 'o', "FORMAT", "table, wide, json, yaml or name"}; }

OptionSpec watch_option() {
  return {"watch", 0,   "SECONDS", "show it again whenever it has changed, or at this interval",
          false,   true};
}

OptionSpec labels_option() {
  return {"labels", 0, "NAME=VALUE", "with this label; given again, with all of them", true};
}

std::vector<OptionSpec> server_options() {
  return {{"url", 0, "URL", "of the server (DOVE_URL)"},
          {"data", 0, "DIR", "data directory of a server on this machine (DOVE_DATA)"},
          {"insecure", 0, "", "show tokens to an http:// server elsewhere, too (DOVE_INSECURE=1)"}};
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void say(const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "dove: {}\n", message);
}

void print_value(const json& value, Format format) {
  if (format == Format::kJson) {
    print(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  } else {
    print(yaml_text(value));
  }
}

std::function<int(const Invocation&)> guarded(std::string name,
                                              std::function<Result<int>(const Invocation&)> body) {
  return [name = std::move(name), body = std::move(body)](const Invocation& invocation) {
    const Result<int> result = body(invocation);
    if (result.ok()) return *result;
    const Error& error = result.error();
    std::fflush(stdout);
    const bool named = error.message.find(error.field) != std::string::npos;
    fmt::print(stderr, "dove {}: {}{}{}\n", name, error.field.empty() || named ? "" : error.field,
               error.field.empty() || named ? "" : ": ", error.message);
    return exit_code(error);
  };
}

Result<int> repeat(const Invocation& invocation, const std::function<Result<int>()>& render) {
  if (!invocation.has("watch")) return render();
  std::int64_t every_us = 2'000'000;
  if (const std::string given = invocation.get("watch"); !given.empty()) {
    const std::optional<std::int64_t> parsed = parse_span_us(given);
    if (!parsed || *parsed < 100'000)
      return usage_error("--watch takes a time such as 2s, at least 100ms");
    every_us = *parsed;
  }
  KeyReader keys;
  while (true) {
    if (stdout_is_terminal()) print("\x1b[H\x1b[2J");
    TRY_ASSIGN(const int code, render());
    if (std::fflush(stdout) != 0) return code;
    const char key = keys.key(static_cast<int>(every_us / 1000));
    if (key == 'q') return code;
  }
}

std::string text_of(const json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  if (found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number_integer() ? found->dump() : "";
}

std::int64_t number_of(const json& object, const char* name, std::int64_t otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>()
                                                             : otherwise;
}

bool flag_of(const json& object, const char* name) {
  if (!object.is_object()) return false;
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

const json& list_of(const json& object, const char* name) {
  static const json kNone = json::array();
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : kNone;
}

Error usage_error(std::string message) {
  return Error{ErrorKind::kInvalid, "usage", std::move(message), ""};
}

std::vector<std::string> comma_list(const std::string& text) { return text::split(text, ", "); }

}  // namespace dove::cli
