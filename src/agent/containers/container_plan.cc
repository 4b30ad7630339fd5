#include "agent/containers/container_plan.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "containers/place.h"
#include "model/huge_pages.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kShmBytes = std::int64_t{1} << 30;
constexpr const char kPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Whether `path` is `root` or below it; both normal.
bool lies_in(const std::string& path, const std::string& root) {
  return path == root || path.starts_with(root == "/" ? root : root + "/");
}

std::string normal(const std::string& path) {
  std::string text = fs::path(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

Result<ContainerBind> volume_bind(const Volume& volume, const std::vector<std::string>& roots,
                                  bool as_owner) {
  const std::string source = normal(volume.source);
  ContainerBind bind;
  bind.how = !volume.writable ? "ro" : as_owner ? "owned" : "rw";
  bind.target = volume.target.empty() ? volume.source : volume.target;
  for (const std::string& given : roots) {
    const std::string root = normal(given);
    if (!lies_in(source, root)) continue;
    bind.root = root;
    bind.path = source.size() > root.size() ? source.substr(root == "/" ? 1 : root.size() + 1) : "";
    return bind;
  }
  return Error{ErrorKind::kInvalid, "volume_not_allowed",
               fmt::format("the volume {} is not one that containers may see on this node; allowed "
                           "is what lies in {} (--volume-roots of the agent)",
                           volume.source,
                           roots.empty() ? "nothing" : fmt::format("{}", fmt::join(roots, ", "))),
               "volumes"};
}

// The smallest pages where programs look first: "/dev/hugepages", then "/dev/hugepages-1Gi".
void add_huge_pages(const TaskPlan& plan, std::vector<ContainerBind>& binds) {
  std::string target = "/dev/hugepages";
  for (const auto& [page_bytes, bytes] : plan.huge_pages) {
    if (page_bytes != plan.huge_pages.begin()->first)
      target = "/dev/" + huge_pages_name(page_bytes);
    binds.push_back({"huge", std::to_string(page_bytes), std::to_string(bytes), target});
  }
}

// The job's own directories, the image's, the package `dove`.
void add_python(const TaskPlan& plan, const containers::Image& image, containers::Bundle& bundle) {
  std::string all;
  for (const auto* own : {&plan.environment, &image.environment}) {
    const auto found = own->find("PYTHONPATH");
    if (found != own->end() && !found->second.empty()) all += found->second + ":";
  }
  bundle.environment["PYTHONPATH"] = all + containers::kPython;
}

}  // namespace

Result<ContainerIdentity> container_identity(const std::string& linux_user) {
  ContainerIdentity identity;
  if (linux_user.empty()) {
    identity.uids = identity.gids = containers::map_ids({});
    return identity;
  }
  const passwd* entry = ::getpwnam(linux_user.c_str());
  if (entry == nullptr || entry->pw_uid == 0) {
    return Error{ErrorKind::kInvalid, "no_linux_user",
                 fmt::format("Linux user '{}' does not exist on this node, or is root", linux_user),
                 ""};
  }
  identity.uid = entry->pw_uid;
  identity.gid = entry->pw_gid;
  int count = 256;
  gid_t groups[256];
  if (::getgrouplist(entry->pw_name, entry->pw_gid, groups, &count) > 0) {
    identity.groups.assign(groups, groups + count);
  }
  // Groups of the machine's root would be rights over what is the machine's.
  std::erase(identity.groups, 0U);
  std::vector<std::uint32_t> gids = identity.groups;
  gids.push_back(identity.gid);
  identity.uids = containers::map_ids({identity.uid});
  identity.gids = containers::map_ids(gids);
  return identity;
}

Result<std::vector<ContainerBind>> container_binds(const TaskPlan& plan,
                                                   const std::vector<std::string>& volume_roots,
                                                   const ContainerFiles& files) {
  std::vector<ContainerBind> binds;
  binds.push_back({"ro", files.contain, "", containers::kInit});
  for (const auto& [file, target] :
       {std::pair{files.resolver, "/etc/resolv.conf"}, std::pair{files.hosts, "/etc/hosts"}}) {
    struct stat facts {};
    if (::stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) {
      binds.push_back({"ro", fs::canonical(file).string(), "", target});
    }
  }
  if (!files.python.empty()) binds.push_back({"ro", files.python, "", containers::kPython});
  for (const SharedPath& shared : plan.shared) {
    binds.push_back({shared.writable ? "rw" : "ro", shared.source, "", shared.target});
  }
  for (const Volume& volume : plan.container.volumes) {
    TRY_ASSIGN(ContainerBind bind, volume_bind(volume, volume_roots, plan.linux_user.empty()));
    binds.push_back(std::move(bind));
  }
  add_huge_pages(plan, binds);
  return binds;
}

Result<containers::CdiEdits> cdi_edits(const TaskPlan& plan, const CdiNames& names) {
  std::vector<std::string> wanted = plan.edits.cdi_devices;
  if ((plan.devices.empty() && wanted.empty()) || names.directories.empty()) {
    return plan.edits.edits;
  }
  const containers::CdiRegistry registry = containers::CdiRegistry::read(names.directories);
  for (const GivenDevice& device : plan.devices) {
    const auto kind = names.kinds.find(device.vendor);
    if (kind == names.kinds.end()) continue;
    if (!registry.has_kind(kind->second)) {
      if (registry.errors().empty()) continue;
      return registry.errors().front();
    }
    std::string name = registry.find(kind->second, device.name, device.file);
    if (name.empty()) name = kind->second + "=" + device.name;  // which edits() refuses
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
  }
  TRY_ASSIGN(containers::CdiEdits edits, registry.edits(wanted));
  edits.add(plan.edits.edits);
  return edits;
}

void apply_cdi(const containers::CdiEdits& edits, ContainerIdentity& identity,
               containers::Bundle& bundle) {
  for (const auto& [name, value] : edits.environment) bundle.environment[name] = value;
  std::vector<std::string>& nodes = bundle.devices;
  nodes.insert(nodes.end(), edits.devices.begin(), edits.devices.end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  bundle.hooks.insert(bundle.hooks.end(), edits.hooks.begin(), edits.hooks.end());
  if (edits.groups.empty()) return;
  identity.groups.insert(identity.groups.end(), edits.groups.begin(), edits.groups.end());
  std::vector<std::uint32_t> same = identity.groups;
  if (identity.gid != 0) same.push_back(identity.gid);
  identity.gids = bundle.gids = containers::map_ids(same);
  bundle.groups = identity.groups;
}

std::vector<ContainerBind> cdi_binds(const containers::CdiEdits& edits) {
  std::vector<ContainerBind> binds;
  for (const containers::CdiMount& mount : edits.mounts) {
    binds.push_back({mount.writable ? "rw" : "ro", mount.source, "", mount.target});
  }
  return binds;
}

containers::Bundle container_bundle(const TaskPlan& plan, const containers::Image& image,
                                    const ContainerIdentity& identity,
                                    const std::vector<ContainerBind>& binds) {
  containers::Bundle bundle;
  std::vector<std::int32_t> ports;
  for (const PublishedPort& published : plan.ports) ports.push_back(published.port);
  const std::string listed = fmt::format("{}", fmt::join(ports, ","));
  bundle.argv = {containers::kInit, "init", listed.empty() ? "-" : listed};
  bundle.argv.insert(bundle.argv.end(), plan.argv.begin(), plan.argv.end());
  bundle.environment = plan.environment;
  for (const auto& [name, value] : image.environment) {
    const bool is_new = bundle.environment.try_emplace(name, value).second;
    // Ours alone comes before the image's and hides none of it; the job's own does.
    std::string& given = bundle.environment[name];
    if (!is_new && name == "LD_PRELOAD" && given == containers::kShares) given += ":" + value;
  }
  bundle.environment.try_emplace("PATH", kPath);
  bundle.environment.try_emplace("HOME", "/root");
  add_python(plan, image, bundle);
  bundle.environment["DOVE_TASK_MARK"] = plan.mark;
  bundle.workdir = plan.container.workdir.empty() ? image.workdir : plan.container.workdir;
  bundle.root = containers::kRoot;
  bundle.read_only = plan.container.read_only;
  bundle.uid = identity.uid;
  bundle.gid = identity.gid;
  bundle.groups = identity.groups;
  bundle.umask = static_cast<std::uint32_t>(plan.umask);
  bundle.uids = identity.uids;
  bundle.gids = identity.gids;
  bundle.mounts.push_back({containers::kSys, "/sys"});
  for (std::size_t i = 0; i < binds.size(); ++i) {
    bundle.mounts.push_back({fmt::format("{}/bind{}", containers::kPlace, i), binds[i].target});
  }
  bundle.devices = plan.device_nodes;
  bundle.shm_bytes = plan.container.shm_bytes;
  if (bundle.shm_bytes == 0) {
    bundle.shm_bytes = plan.memory_bytes > 0 ? plan.memory_bytes / 2 : kShmBytes;
  }
  return bundle;
}

}  // namespace dove::agent
