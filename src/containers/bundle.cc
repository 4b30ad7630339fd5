#include "containers/bundle.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "containers/system_calls.h"

namespace dove::containers {
namespace {

using Json = nlohmann::json;

// Over what its own user namespace owns; nothing of the machine.
constexpr const char* kCapabilities[] = {"CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER",
                                         "CAP_FSETID", "CAP_KILL",         "CAP_SETGID",
                                         "CAP_SETUID"};

constexpr const char* kMasked[] = {"/proc/kcore",        "/proc/keys",        "/proc/latency_stats",
                                   "/proc/timer_list",   "/proc/timer_stats", "/proc/sched_debug",
                                   "/proc/scsi",         "/proc/acpi",        "/proc/asound",
                                   "/proc/interrupts",   "/sys/firmware",     "/sys/kernel/debug",
                                   "/sys/kernel/tracing"};
constexpr const char* kReadOnly[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                     "/proc/sysrq-trigger"};

Json process_json(const Bundle& bundle) {
  Json environment = Json::array();
  for (const auto& [name, value] : bundle.environment) environment.push_back(name + "=" + value);
  Json capabilities = Json::object();
  for (const char* set : {"bounding", "effective", "permitted"}) {
    capabilities[set] = kCapabilities;
  }
  return Json{{"terminal", false},
              {"user",
               {{"uid", bundle.uid},
                {"gid", bundle.gid},
                {"umask", bundle.umask},
                {"additionalGids", bundle.groups}}},
              {"args", bundle.argv},
              {"env", std::move(environment)},
              {"cwd", bundle.workdir},
              {"capabilities", std::move(capabilities)},
              {"noNewPrivileges", true},
              {"oomScoreAdj", 500}};
}

Json mount_json(const char* target, const char* type, const char* source, Json options) {
  return Json{
      {"destination", target}, {"type", type}, {"source", source}, {"options", std::move(options)}};
}

Json mounts_json(const Bundle& bundle) {
  Json mounts = Json::array();
  mounts.push_back(mount_json("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}));
  mounts.push_back(
      mount_json("/dev", "tmpfs", "tmpfs", {"nosuid", "noexec", "mode=755", "size=64k"}));
  mounts.push_back(mount_json("/dev/pts", "devpts", "devpts",
                              {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}));
  mounts.push_back(mount_json("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}));
  mounts.push_back(
      mount_json("/dev/shm", "tmpfs", "shm",
                 {"nosuid", "noexec", "nodev", "mode=1777",
                  fmt::format("size={}", bundle.shm_bytes > 0 ? bundle.shm_bytes : 64 << 20)}));
  for (const Mount& mount : bundle.mounts) {
    mounts.push_back(
        mount_json(mount.target.c_str(), "bind", mount.source.c_str(), Json::array({"bind"})));
  }
  return mounts;
}

Json ids_json(const IdMap& map) {
  Json list = Json::array();
  for (const IdRange& range : map) {
    list.push_back(
        Json{{"containerID", range.inside}, {"hostID", range.outside}, {"size", range.count}});
  }
  return list;
}

std::string list_text(const std::vector<std::int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

// The runtime adds what every container may use (null, zero, random, its own terminals).
void add_devices(const Bundle& bundle, Json& linux) {
  Json rules = Json::array({Json{{"allow", false}, {"access", "rwm"}}});
  Json nodes = Json::array();
  for (const std::string& path : bundle.devices) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0 || !S_ISCHR(facts.st_mode)) continue;
    const unsigned major_number = major(facts.st_rdev);
    const unsigned minor_number = minor(facts.st_rdev);
    rules.push_back(Json{{"allow", true},
                         {"type", "c"},
                         {"major", major_number},
                         {"minor", minor_number},
                         {"access", "rw"}});
    nodes.push_back(Json{{"path", path},
                         {"type", "c"},
                         {"major", major_number},
                         {"minor", minor_number},
                         {"fileMode", 0666}});
  }
  linux["resources"]["devices"] = std::move(rules);
  if (!nodes.empty()) linux["devices"] = std::move(nodes);
}

Json hooks_json(const Bundle& bundle) {
  Json hooks = Json::object();
  for (const CdiHook& hook : bundle.hooks) {
    Json one{{"path", hook.path}};
    if (!hook.arguments.empty()) one["args"] = hook.arguments;
    if (!hook.environment.empty()) one["env"] = hook.environment;
    if (hook.timeout_s > 0) one["timeout"] = hook.timeout_s;
    hooks[hook.when].push_back(std::move(one));
  }
  return hooks;
}

Json linux_json(const Bundle& bundle) {
  Json linux{{"namespaces", Json::array()},
             {"uidMappings", ids_json(bundle.uids)},
             {"gidMappings", ids_json(bundle.gids)},
             {"cgroupsPath", bundle.cgroup},
             {"maskedPaths", kMasked},
             {"readonlyPaths", kReadOnly},
             {"rootfsPropagation", "private"},
             {"seccomp", system_calls_json()}};
  for (const char* kind : {"pid", "ipc", "uts", "mount", "user", "cgroup"}) {
    linux["namespaces"].push_back(Json{{"type", kind}});
  }
  Json& resources = linux["resources"] = Json::object();
  if (bundle.memory_bytes > 0) resources["memory"] = {{"limit", bundle.memory_bytes}};
  if (bundle.processes_max > 0) resources["pids"] = {{"limit", bundle.processes_max}};
  if (!bundle.cpus.empty()) resources["cpu"]["cpus"] = list_text(bundle.cpus);
  if (!bundle.numa_nodes.empty()) resources["cpu"]["mems"] = list_text(bundle.numa_nodes);
  add_devices(bundle, linux);
  return linux;
}

}  // namespace

std::string process_file(const Bundle& bundle) { return codec::dump_json(process_json(bundle)); }

std::string config_json(const Bundle& bundle) {
  return codec::dump_json(Json{{"ociVersion", "1.0.2"},
                               {"process", process_json(bundle)},
                               {"root", {{"path", bundle.root}, {"readonly", bundle.read_only}}},
                               {"hostname", bundle.hostname},
                               {"mounts", mounts_json(bundle)},
                               {"hooks", hooks_json(bundle)},
                               {"annotations", bundle.annotations},
                               {"linux", linux_json(bundle)}});
}

}  // namespace dove::containers
