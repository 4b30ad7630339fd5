#include "agent/containers/container_plan.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "agent/aside/linux_user.h"
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

// The innermost that holds the path; nullptr: none does.
const VolumeRoot* root_of(const std::string& source, const std::vector<VolumeRoot>& roots) {
  const VolumeRoot* best = nullptr;
  for (const VolumeRoot& root : roots) {
    if (!lies_in(source, root.path)) continue;
    if (best == nullptr || root.path.size() > best->path.size()) best = &root;
  }
  return best;
}

Error not_allowed(const Volume& volume, const std::vector<VolumeRoot>& roots) {
  std::vector<std::string> paths;
  for (const VolumeRoot& root : roots) paths.push_back(root.path);
  return Error{ErrorKind::kInvalid, "volume_not_allowed",
               fmt::format("the volume {} is not one that containers may see on this node; allowed "
                           "is what lies in {} (--volume-roots of the agent)",
                           volume.source,
                           paths.empty() ? "nothing" : fmt::format("{}", fmt::join(paths, ", "))),
               "volumes"};
}

// A user without an account on the machine is let in only if its administrator says so.
Result<void> check_declared(const Volume& volume, const VolumeRoot& root, const std::string& user) {
  const auto names = [&](const std::string& one) { return one == user || one == "*"; };
  const bool owns = !root.owner.empty() && names(root.owner);
  if (owns) return {};
  const bool reads = std::any_of(root.readers.begin(), root.readers.end(), names);
  if (reads && !volume.writable) return {};
  return Error{
      ErrorKind::kInvalid, "volume_not_yours",
      fmt::format("user '{}', who is mapped to no Linux user, {} the volume {}; an administrator "
                  "maps the user to one (kind: User, linux_user: …), or names them for {} "
                  "(--volume-roots {}=OWNER+READER)",
                  user, reads ? "may only read" : "has no right to", volume.source, root.path,
                  root.path),
      "volumes"};
}

Result<ContainerBind> volume_bind(const Volume& volume, const std::vector<VolumeRoot>& roots,
                                  const TaskPlan& plan) {
  const std::string source = normal(volume.source);
  const VolumeRoot* root = root_of(source, roots);
  if (root == nullptr) return not_allowed(volume, roots);
  ContainerBind bind;
  bind.target = volume.target.empty() ? volume.source : volume.target;
  bind.root = root->path;
  bind.path = source.size() > root->path.size()
                  ? source.substr(root->path == "/" ? 1 : root->path.size() + 1)
                  : "";
  if (!plan.volume_user.empty()) {
    TRY(check_declared(volume, *root, plan.volume_user));
    bind.how = volume.writable ? "owned" : "owned-ro";
  } else {
    bind.how = !volume.writable ? "ro" : plan.linux_user.empty() ? "owned" : "rw";
  }
  return bind;
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

Result<std::vector<VolumeRoot>> parse_volume_roots(const std::string& text) {
  std::vector<VolumeRoot> roots;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    VolumeRoot root;
    const std::size_t equals = part.rfind('=');
    const bool names = equals != std::string::npos;
    if (part.empty() || equals == 0 || (names && equals + 1 == part.size())) {
      return Error{ErrorKind::kInvalid, "bad_setting",
                   fmt::format("--volume-roots: '{}' is not of the form DIR or "
                               "DIR=OWNER[+READER]..., as in /shared/vision=ann+bob",
                               part),
                   "--volume-roots"};
    }
    root.path = normal(fs::absolute(part.substr(0, equals)));
    if (names) {
      std::stringstream words(part.substr(equals + 1));
      std::getline(words, root.owner, '+');
      for (std::string name; std::getline(words, name, '+');) root.readers.push_back(name);
    }
    roots.push_back(std::move(root));
  }
  return roots;
}

Result<ContainerIdentity> container_identity(const std::string& linux_user, bool root) {
  ContainerIdentity identity;
  if (linux_user.empty()) {
    identity.uids = identity.gids = containers::map_ids({});
    return identity;
  }
  const std::optional<LinuxUser> user = known_linux_user(linux_user);
  if (!user || user->uid == 0) {
    return Error{ErrorKind::kInvalid, "no_linux_user",
                 fmt::format("Linux user '{}' does not exist on this node, or is root", linux_user),
                 ""};
  }
  identity.uid = user->uid;
  identity.gid = user->gid;
  identity.groups = user->groups;
  // Groups of the machine's root would be rights over what is the machine's.
  std::erase(identity.groups, 0U);
  if (root) {
    std::erase(identity.groups, identity.gid);
    identity.uids = containers::map_root(containers::map_ids({}), identity.uid);
    identity.gids = containers::map_root(containers::map_ids(identity.groups), identity.gid);
    identity.uid = identity.gid = 0;
    return identity;
  }
  std::vector<std::uint32_t> gids = identity.groups;
  gids.push_back(identity.gid);
  identity.uids = containers::map_ids({identity.uid});
  identity.gids = containers::map_ids(gids);
  return identity;
}

Result<std::string> outside_user(const std::string& linux_user) {
  if (linux_user.empty()) return std::string();
  TRY_ASSIGN(const ContainerIdentity user, container_identity(linux_user));
  return fmt::format("{}:{}:{}", user.uid, user.gid, fmt::join(user.groups, ","));
}

Result<std::vector<ContainerBind>> container_binds(const TaskPlan& plan,
                                                   const std::vector<VolumeRoot>& volume_roots,
                                                   const ContainerFiles& files) {
  std::vector<ContainerBind> binds;
  binds.push_back({"ro", files.contain, "", containers::kInit});
  const fs::path sftp = fs::path(files.contain).parent_path() / containers::kSftpWord;
  if (std::error_code none; fs::exists(sftp, none)) {
    binds.push_back({"ro", sftp.string(), "", containers::kSftp});
  }
  for (const auto& [file, target] :
       {std::pair{files.resolver, "/etc/resolv.conf"}, std::pair{files.hosts, "/etc/hosts"}}) {
    struct stat facts {};
    if (::stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) {
      binds.push_back({"ro", fs::canonical(file).string(), "", target});
    }
  }
  if (!plan.authority_path.empty()) {
    binds.push_back({"ro", plan.authority_path, "", containers::kAuthority});
  }
  if (!files.python.empty()) binds.push_back({"ro", files.python, "", containers::kPython});
  for (const SharedPath& shared : plan.shared) {
    binds.push_back({shared.writable ? "rw" : "ro", shared.source, "", shared.target});
  }
  for (const Volume& volume : plan.container.volumes) {
    TRY_ASSIGN(ContainerBind bind, volume_bind(volume, volume_roots, plan));
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
  const std::uint32_t root = containers::outside_of(identity.gids, 0);
  identity.gids = containers::map_ids(same);
  if (root != containers::kIdBase) {
    std::erase(same, root);
    identity.gids = containers::map_root(containers::map_ids(same), root);
  }
  bundle.gids = identity.gids;
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
    if (plan.yields.contains(name)) bundle.environment.erase(name);
    const bool is_new = bundle.environment.try_emplace(name, value).second;
    // Ours alone comes before the image's and hides none of it; the job's own does.
    std::string& given = bundle.environment[name];
    if (!is_new && name == "LD_PRELOAD" && given == containers::kShares) given += ":" + value;
  }
  bundle.environment.try_emplace("PATH", kPath);
  bundle.environment.try_emplace("HOME", "/root");
  add_python(plan, image, bundle);
  if (!plan.authority_path.empty()) bundle.environment["DOVE_CA_FILE"] = containers::kAuthority;
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
