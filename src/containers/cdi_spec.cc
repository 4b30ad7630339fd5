// Reading CDI specifications: the JSON and YAML files that vendors leave on a node.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <set>

#include "containers/cdi.h"

namespace dove::containers {
namespace {

constexpr std::size_t kFileBytes_max = 8 << 20;
constexpr std::size_t kItems_max = 10'000;

bool is_name(const std::string& text, const char* more) {
  if (text.empty() || text.size() > 128) return false;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && std::string_view(more).find(c) == std::string_view::npos) return false;
  }
  return true;
}

struct Reader {
  std::string name;

  Error wrong(const YAML::Node& at, const std::string& message) const {
    const YAML::Mark mark = at.Mark();
    const std::string place = fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
    return Error{ErrorKind::kInvalid, "cdi_spec",
                 fmt::format("{}: {}; have the vendor's tool write the file again (nvidia-ctk cdi "
                             "generate), or remove it",
                             place, message),
                 place};
  }
  Result<void> known(const YAML::Node& map, const std::set<std::string>& keys) const {
    if (!map.IsMap()) return wrong(map, "expected keys and values here");
    for (const auto& entry : map) {
      const auto key = entry.first.as<std::string>("");
      if (keys.count(key) != 0) continue;
      return wrong(entry.first,
                   fmt::format("'{}' is not known here, or cannot be done to containers of this "
                               "agent; known are: {}",
                               key, fmt::join(keys, ", ")));
    }
    return {};
  }
  Result<void> list(const YAML::Node& node, const char* what) const {
    if (node && !node.IsNull() && !node.IsSequence()) {
      return wrong(node, fmt::format("{} is a list", what));
    }
    if (node && node.size() > kItems_max) return wrong(node, fmt::format("{} is too long", what));
    return {};
  }
  Result<std::string> text(const YAML::Node& at, const char* key) const {
    const YAML::Node node = at[key];
    if (!node) return wrong(at, fmt::format("there is no {}", key));
    if (!node.IsScalar()) return wrong(node, fmt::format("{} is a text", key));
    return node.Scalar();
  }
  Result<std::string> path(const YAML::Node& at, const char* key) const {
    TRY_ASSIGN(std::string found, text(at, key));
    if (!found.starts_with('/') || found.find('\0') != std::string::npos ||
        (found + "/").find("/../") != std::string::npos) {
      return wrong(at[key], fmt::format("{} '{}' is not an absolute path", key, found));
    }
    return found;
  }
  Result<std::vector<std::string>> texts(const YAML::Node& at, const char* key) const {
    std::vector<std::string> found;
    TRY(list(at[key], key));
    for (const YAML::Node& item : at[key]) {
      if (!item.IsScalar()) return wrong(item, fmt::format("{} is a list of texts", key));
      found.push_back(item.Scalar());
    }
    return found;
  }
};

Result<void> read_environment(const Reader& read, const YAML::Node& at, CdiEdits& out) {
  TRY_ASSIGN(const std::vector<std::string> lines, read.texts(at, "env"));
  for (const std::string& line : lines) {
    const std::size_t equals = line.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return read.wrong(at["env"], fmt::format("'{}' is not of the form NAME=VALUE", line));
    }
    out.environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return {};
}

Result<void> read_devices(const Reader& read, const YAML::Node& at, CdiEdits& out) {
  TRY(read.list(at["deviceNodes"], "deviceNodes"));
  for (const YAML::Node& item : at["deviceNodes"]) {
    TRY(read.known(item, {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions",
                          "uid", "gid"}));
    TRY_ASSIGN(std::string path, read.path(item, "path"));
    if (item["hostPath"] && item["hostPath"].as<std::string>("") != path) {
      return read.wrong(item["hostPath"], "a device file has the same path outside and inside");
    }
    const auto type = item["type"].as<std::string>("c");
    if (type != "c" && type != "u") {
      return read.wrong(item["type"], fmt::format("a device of type '{}' is not given", type));
    }
    out.devices.push_back(std::move(path));
  }
  return {};
}

Result<void> read_mounts(const Reader& read, const YAML::Node& at, CdiEdits& out) {
  TRY(read.list(at["mounts"], "mounts"));
  for (const YAML::Node& item : at["mounts"]) {
    TRY(read.known(item, {"hostPath", "containerPath", "type", "options"}));
    CdiMount mount;
    TRY_ASSIGN(mount.source, read.path(item, "hostPath"));
    TRY_ASSIGN(mount.target, read.path(item, "containerPath"));
    const auto type = item["type"].as<std::string>("bind");
    if (type != "bind" && type != "none" && !type.empty()) {
      return read.wrong(item["type"], fmt::format("a mount of type '{}' is not made", type));
    }
    TRY_ASSIGN(const std::vector<std::string> options, read.texts(item, "options"));
    mount.writable = true;
    for (const std::string& option : options) {
      if (option == "ro") mount.writable = false;
    }
    out.mounts.push_back(std::move(mount));
  }
  return {};
}

Result<void> read_hooks(const Reader& read, const YAML::Node& at, CdiEdits& out) {
  TRY(read.list(at["hooks"], "hooks"));
  for (const YAML::Node& item : at["hooks"]) {
    TRY(read.known(item, {"hookName", "path", "args", "env", "timeout"}));
    CdiHook hook;
    TRY_ASSIGN(hook.when, read.text(item, "hookName"));
    static const std::set<std::string> kTimes = {
        "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};
    if (kTimes.count(hook.when) == 0) {
      return read.wrong(item["hookName"], fmt::format("there is no hook '{}'; there are: {}",
                                                      hook.when, fmt::join(kTimes, ", ")));
    }
    TRY_ASSIGN(hook.path, read.path(item, "path"));
    TRY_ASSIGN(hook.arguments, read.texts(item, "args"));
    TRY_ASSIGN(hook.environment, read.texts(item, "env"));
    if (item["timeout"]) {
      hook.timeout_s = item["timeout"].as<std::int64_t>(-1);
      if (hook.timeout_s < 0 || hook.timeout_s > 3600) {
        return read.wrong(item["timeout"], "a timeout is from 0 to 3600 seconds");
      }
    }
    out.hooks.push_back(std::move(hook));
  }
  return {};
}

Result<CdiEdits> read_edits(const Reader& read, const YAML::Node& at) {
  CdiEdits out;
  if (!at || at.IsNull()) return out;
  TRY(read.known(at, {"env", "deviceNodes", "mounts", "hooks", "additionalGids"}));
  TRY(read_environment(read, at, out));
  TRY(read_devices(read, at, out));
  TRY(read_mounts(read, at, out));
  TRY(read_hooks(read, at, out));
  TRY_ASSIGN(const std::vector<std::string> groups, read.texts(at, "additionalGids"));
  for (const std::string& text : groups) {
    std::uint32_t group = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), group);
    if (error != std::errc() || end != text.data() + text.size() || group == 0) {
      return read.wrong(at["additionalGids"], fmt::format("'{}' is not a group's number", text));
    }
    out.groups.push_back(group);
  }
  return out;
}

Result<CdiSpec> read_spec(const Reader& read, const YAML::Node& root) {
  TRY(read.known(root, {"cdiVersion", "kind", "annotations", "devices", "containerEdits"}));
  TRY_ASSIGN(const std::string version, read.text(root, "cdiVersion"));
  if (!version.starts_with("0.") && !version.starts_with("1.")) {
    return read.wrong(root["cdiVersion"], fmt::format("version '{}' is not known", version));
  }
  CdiSpec spec;
  TRY_ASSIGN(spec.kind, read.text(root, "kind"));
  const std::size_t slash = spec.kind.find('/');
  if (slash == std::string::npos || !is_name(spec.kind.substr(0, slash), "-_.") ||
      !is_name(spec.kind.substr(slash + 1), "-_")) {
    return read.wrong(root["kind"],
                      fmt::format("'{}' is not of the form vendor.com/class", spec.kind));
  }
  TRY_ASSIGN(spec.all, read_edits(read, root["containerEdits"]));
  TRY(read.list(root["devices"], "devices"));
  for (const YAML::Node& item : root["devices"]) {
    TRY(read.known(item, {"name", "annotations", "containerEdits"}));
    TRY_ASSIGN(const std::string name, read.text(item, "name"));
    if (!is_name(name, "-_.:")) {
      return read.wrong(item, fmt::format("'{}' is no name of a device", name));
    }
    TRY_ASSIGN(CdiEdits edits, read_edits(read, item["containerEdits"]));
    if (!spec.devices.emplace(name, std::move(edits)).second) {
      return read.wrong(item, fmt::format("device '{}' is there twice", name));
    }
  }
  if (spec.devices.empty()) return read.wrong(root, "there are no devices");
  return spec;
}

}  // namespace

Result<CdiSpec> parse_cdi_spec(const std::string& text, const std::string& name) {
  if (text.size() > kFileBytes_max) {
    return Error{ErrorKind::kTooLarge, "cdi_spec", name + ": over 8 MiB", name};
  }
  const Reader read{name};
  try {
    return read_spec(read, YAML::Load(text));  // JSON is YAML
  } catch (const YAML::Exception& e) {
    const std::string place = fmt::format("{}:{}:{}", name, e.mark.line + 1, e.mark.column + 1);
    return Error{ErrorKind::kInvalid, "cdi_spec",
                 fmt::format("{}: {}; have the vendor's tool write the file again, or remove it",
                             place, e.msg),
                 place};
  }
}

}  // namespace dove::containers
