// Reading CDI specifications: the JSON and YAML files that vendors leave on a node.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "containers/cdi.h"
#include "yaml/fields.h"

namespace dove::containers {
namespace {

constexpr yaml::Limits kLimits{.bytes_max = 8 << 20};
constexpr std::size_t kItemsMax = 10'000;

using List = std::vector<yaml::ValueRef>;

bool is_name(const std::string& text, const char* more) {
  if (text.empty() || text.size() > 128) return false;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && std::string_view(more).find(c) == std::string_view::npos) return false;
  }
  return true;
}

yaml::Fields fields_of(const yaml::Value& map, const char* what) {
  return yaml::Fields(map, what, yaml::Blank::kEmpty);
}

Result<void> check_path(const yaml::Fields& in, const char* name, const std::string& path) {
  if (path.starts_with('/') && path.find('\0') == std::string::npos &&
      (path + "/").find("/../") == std::string::npos) {
    return {};
  }
  return in.wrong(name, fmt::format("{} '{}' is not an absolute path", name, path));
}

Result<void> read_environment(const List& list, CdiEdits& out) {
  for (const yaml::ValueRef& item : list) {
    TRY_ASSIGN(const std::string line, yaml::text_of(*item, "each of env"));
    const std::size_t equals = line.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return yaml::wrong(*item, fmt::format("'{}' is not of the form NAME=VALUE", line));
    }
    out.environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return {};
}

Result<void> read_devices(const List& list, CdiEdits& out) {
  for (const yaml::ValueRef& item : list) {
    std::string path;
    std::string outside;
    std::string type = "c";
    yaml::Fields in = fields_of(*item, "a device node");
    in.must_text("path", path);
    in.text("hostPath", outside);
    in.text("type", type);
    in.allow({"major", "minor", "fileMode", "permissions", "uid", "gid"});
    TRY(in.end());
    TRY(check_path(in, "path", path));
    if (in.find("hostPath") != nullptr && outside != path) {
      return in.wrong("hostPath", "a device file has the same path outside and inside");
    }
    if (type != "c" && type != "u") {
      return in.wrong("type", fmt::format("a device of type '{}' is not given", type));
    }
    out.devices.push_back(std::move(path));
  }
  return {};
}

Result<void> read_mounts(const List& list, CdiEdits& out) {
  for (const yaml::ValueRef& item : list) {
    CdiMount mount;
    std::string type = "bind";
    std::vector<std::string> options;
    yaml::Fields in = fields_of(*item, "a mount");
    in.must_text("hostPath", mount.source);
    in.must_text("containerPath", mount.target);
    in.text("type", type);
    in.texts("options", options, kItemsMax);
    TRY(in.end());
    TRY(check_path(in, "hostPath", mount.source));
    TRY(check_path(in, "containerPath", mount.target));
    if (type != "bind" && type != "none" && !type.empty()) {
      return in.wrong("type", fmt::format("a mount of type '{}' is not made", type));
    }
    mount.writable = std::ranges::find(options, "ro") == options.end();
    out.mounts.push_back(std::move(mount));
  }
  return {};
}

Result<void> read_hooks(const List& list, CdiEdits& out) {
  static const std::set<std::string> kTimes = {"prestart",       "createRuntime", "createContainer",
                                               "startContainer", "poststart",     "poststop"};
  for (const yaml::ValueRef& item : list) {
    CdiHook hook;
    yaml::Fields in = fields_of(*item, "a hook");
    in.must_text("hookName", hook.when);
    in.must_text("path", hook.path);
    in.texts("args", hook.arguments, kItemsMax);
    in.texts("env", hook.environment, kItemsMax);
    in.integer("timeout", hook.timeout_s, 0, 3600);
    TRY(in.end());
    if (!kTimes.contains(hook.when)) {
      return in.wrong("hookName", fmt::format("there is no hook '{}'; there are: {}", hook.when,
                                              fmt::join(kTimes, ", ")));
    }
    TRY(check_path(in, "path", hook.path));
    out.hooks.push_back(std::move(hook));
  }
  return {};
}

Result<void> read_groups(const List& list, CdiEdits& out) {
  for (const yaml::ValueRef& item : list) {
    TRY_ASSIGN(const std::int64_t group,
               yaml::integer_of(*item, "a group", 1, std::numeric_limits<std::uint32_t>::max()));
    out.groups.push_back(static_cast<std::uint32_t>(group));
  }
  return {};
}

Result<CdiEdits> read_edits(const yaml::Value* map) {
  CdiEdits out;
  if (map == nullptr) return out;
  yaml::Fields in = fields_of(*map, "containerEdits");
  const List& environment = in.list("env", kItemsMax);
  const List& devices = in.list("deviceNodes", kItemsMax);
  const List& mounts = in.list("mounts", kItemsMax);
  const List& hooks = in.list("hooks", kItemsMax);
  const List& groups = in.list("additionalGids", kItemsMax);
  TRY(in.end());
  TRY(read_environment(environment, out));
  TRY(read_devices(devices, out));
  TRY(read_mounts(mounts, out));
  TRY(read_hooks(hooks, out));
  TRY(read_groups(groups, out));
  return out;
}

Result<CdiSpec> read_spec(const yaml::Value& root) {
  CdiSpec spec;
  std::string version;
  yaml::Fields in = fields_of(root, "a CDI specification");
  in.must_text("cdiVersion", version);
  in.must_text("kind", spec.kind);
  const yaml::Value* const edits = in.map("containerEdits");
  const List& devices = in.list("devices", kItemsMax);
  in.allow({"annotations"});
  TRY(in.end());
  if (!version.starts_with("0.") && !version.starts_with("1.")) {
    return in.wrong("cdiVersion", fmt::format("version '{}' is not known", version));
  }
  const std::size_t slash = spec.kind.find('/');
  if (slash == std::string::npos || !is_name(spec.kind.substr(0, slash), "-_.") ||
      !is_name(spec.kind.substr(slash + 1), "-_")) {
    return in.wrong("kind", fmt::format("'{}' is not of the form vendor.com/class", spec.kind));
  }
  TRY_ASSIGN(spec.all, read_edits(edits));
  for (const yaml::ValueRef& item : devices) {
    std::string name;
    yaml::Fields device = fields_of(*item, "a device");
    device.must_text("name", name);
    const yaml::Value* const own = device.map("containerEdits");
    device.allow({"annotations"});
    TRY(device.end());
    if (!is_name(name, "-_.:")) {
      return device.wrong("name", fmt::format("'{}' is no name of a device", name));
    }
    TRY_ASSIGN(CdiEdits given, read_edits(own));
    if (!spec.devices.emplace(name, std::move(given)).second) {
      return device.wrong("name", fmt::format("device '{}' is there twice", name));
    }
  }
  if (spec.devices.empty()) return in.wrong("there are no devices");
  return spec;
}

Error with_remedy(Error error) {
  const bool is_unknown = error.code == "unknown_field";
  return yaml::coded(
      std::move(error), "cdi_spec",
      fmt::format(
          "{}have the vendor's tool write the file again (nvidia-ctk cdi generate), or "
          "remove it",
          is_unknown ? "this agent does not know it, or cannot do it to containers: " : ""));
}

}  // namespace

Result<CdiSpec> parse_cdi_spec(const std::string& text, const std::string& name) {
  const Result<yaml::ValueRef> root = yaml::read(name, text, kLimits);  // JSON is YAML
  if (!root.ok()) return with_remedy(root.error());
  Result<CdiSpec> spec = read_spec(**root);
  return spec.ok() ? std::move(spec) : with_remedy(spec.error());
}

}  // namespace dove::containers
