#include "programs/settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "cli/client/endpoint.h"
#include "files/text_file.h"
#include "wire/address.h"
#include "yaml/fields.h"

namespace dove::programs {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr const char kCode[] = "bad_setting";

Error bad(const std::string& place, const std::string& message) {
  return Error{ErrorKind::kInvalid, kCode, place + ": " + message, place};
}

std::string environment_name(const std::string& option) {
  std::string name = "DOVE_" + option;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

// A directory that cannot be seen into is there, too.
std::string data_here(const std::string& own, const char* service) {
  return access(own.c_str(), F_OK) != 0 && access(service, F_OK) == 0 ? service : own;
}

}  // namespace

Result<Settings> Settings::load(const cli::CommandSpec& spec, const cli::Invocation& invocation) {
  Settings settings;
  std::string file = invocation.get("config");
  if (const char* from_env = std::getenv("DOVE_CONFIG"); file.empty() && from_env != nullptr) {
    file = from_env;
  }
  const std::string standard = "/etc/dove/" + spec.name + ".yaml";
  if (file.empty() && access(standard.c_str(), F_OK) == 0) file = standard;
  if (!file.empty()) TRY(settings.read_file(spec, file));
  for (const cli::OptionSpec& option : spec.options) {
    const std::string name = environment_name(option.name);
    const char* value = std::getenv(name.c_str());
    if (value != nullptr) settings.values_[option.name] = {value, name};
  }
  for (const auto& [name, given] : invocation.values) {
    settings.values_[name] = {given.back(), "--" + name};
  }
  return settings;
}

Result<void> Settings::read_file(const cli::CommandSpec& spec, const std::string& path) {
  const Result<std::string> text = files::read_text(path, kFileBytesMax);
  if (!text.ok()) {
    return Error{ErrorKind::kInvalid, kCode, text.error().message + "; --config names a YAML file",
                 path};
  }
  const Result<yaml::ValueRef> root = yaml::read(path, *text);
  if (!root.ok()) return yaml::coded(root.error(), kCode);
  if ((*root)->kind == yaml::Value::Kind::kNull) return {};
  yaml::Fields in(**root, fmt::format("the configuration of `dove {}`", spec.name));
  for (const cli::OptionSpec& option : spec.options) {
    std::string given;
    in.text(option.name, given);
    const yaml::Value* const value = in.find(option.name);
    if (value != nullptr) values_[option.name] = {std::move(given), to_text(value->place)};
  }
  const Result<void> read = in.end();
  if (read.ok()) return {};
  const bool is_unknown = read.error().code == "unknown_field";
  return yaml::coded(
      read.error(), kCode,
      is_unknown ? fmt::format("`dove {} --help` lists all settings", spec.name) : "");
}

std::vector<std::string> Settings::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

std::string Settings::text(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second.text;
}

Result<std::int64_t> Settings::integer(const std::string& name, std::int64_t otherwise,
                                       std::int64_t least, std::int64_t most) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  const std::string& text = found->second.text;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return bad(found->second.origin,
               fmt::format("'{}' is not a whole number from {} to {}", text, least, most));
  }
  return value;
}

Result<bool> Settings::flag(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return false;
  const std::string& text = found->second.text;
  if (text.empty() || text == "true" || text == "yes" || text == "1") return true;
  if (text == "false" || text == "no" || text == "0") return false;
  return bad(found->second.origin, fmt::format("'{}' is neither true nor false", text));
}

std::string default_data_dir() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/') {
    return std::string(state) + "/dove";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {
    const passwd* entry = getpwuid(geteuid());
    home = entry != nullptr ? entry->pw_dir : "/var/lib";
  }
  return std::string(home) + "/.local/state/dove";
}

std::string server_data_here() {
  const char* stated = std::getenv("DOVE_DATA");
  if (stated != nullptr && *stated != '\0') return stated;
  return data_here(default_data_dir(), cli::kServiceData);
}

std::string agent_data_here() {
  return data_here(default_data_dir() + "-agent", "/var/lib/dove/agent");
}

cli::OptionSpec insecure_spec() {
  return {"insecure", 0, "",
          "show tokens to an http:// server on another machine, too: everybody on the network can "
          "read along",
          false};
}

Result<void> may_show_secrets(const Settings& given, const std::string& urls) {
  TRY_ASSIGN(const bool insecure, given.flag("insecure"));
  return wire::may_show_secrets(urls, insecure);
}

Result<std::string> read_small_file(const std::string& path) {
  TRY_ASSIGN(std::string text, files::read_text(path, 64 * 1024));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace dove::programs
