#include "contain/layers.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace dove::contain {
namespace {

constexpr const char kMade[] = ".made";  // beside a kept root: it was made once
constexpr const char kLock[] = ".lock";

bool write_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return whole;
}

// "0:1000:1,1:…" as the kernel takes it.
std::string map_lines(std::string text) {
  std::replace(text.begin(), text.end(), ':', ' ');
  std::replace(text.begin(), text.end(), ',', '\n');
  return text + "\n";
}

}  // namespace

int user_namespace(const std::string& uids, const std::string& gids) {
  const pid_t child = static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    for (;;) ::pause();
  }
  if (child < 0) return -1;
  const std::string proc = "/proc/" + std::to_string(child);
  int fd = -1;
  if (write_file(proc + "/uid_map", map_lines(uids)) &&
      write_file(proc + "/gid_map", map_lines(gids))) {
    fd = ::open((proc + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC);
  }
  const int reason = errno;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  errno = reason;
  return fd;
}

bool attach(int from, const std::string& target, std::uint64_t restrictions, int ids) {
  const int tree = ::open_tree(from, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (tree < 0) return false;
  mount_attr attributes{};
  attributes.attr_set = restrictions | (ids >= 0 ? MOUNT_ATTR_IDMAP : 0);
  if (ids >= 0) attributes.userns_fd = static_cast<std::uint64_t>(ids);
  const bool done = ::mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0 &&
                    ::move_mount(tree, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
  const int reason = errno;
  ::close(tree);
  errno = reason;
  return done;
}

std::string outside_root(const std::string& map) {
  const std::size_t from = map.find(':') + 1;
  return map.substr(from, map.find(':', from) - from);
}

// Not what belongs to the machine's root: a program of it with the set-user-ID bit would be root's
// outside.
int ids_of_owner(const struct stat& facts, const std::string& uids, const std::string& gids) {
  if (facts.st_uid == 0 || facts.st_gid == 0) return -1;
  return user_namespace(std::to_string(facts.st_uid) + ":" + outside_root(uids) + ":1",
                        std::to_string(facts.st_gid) + ":" + outside_root(gids) + ":1");
}

std::string make_layers(const RootFrom& from, const std::string& base) {
  const auto in = [&](const char* name) { return base + "/" + name; };
  for (const char* name : {"lower", "upper", "work", "root"}) {
    if (::mkdir(in(name).c_str(), 0755) != 0) return "make " + in(name);
  }
  const auto uid = static_cast<uid_t>(std::strtoul(outside_root(from.uids).c_str(), nullptr, 10));
  const auto gid = static_cast<gid_t>(std::strtoul(outside_root(from.gids).c_str(), nullptr, 10));
  if (::chown(in("upper").c_str(), uid, gid) != 0) return "own the scratch space";
  const int lower = ::open(from.lower.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat facts {};
  if (lower < 0 || ::fstat(lower, &facts) != 0) return "open the image " + from.lower;
  const bool owned = from.lower_is_owned && facts.st_uid != 0 && facts.st_gid != 0;
  const int ids =
      owned ? ids_of_owner(facts, from.uids, from.gids) : user_namespace(from.uids, from.gids);
  if (ids < 0) return "make a user namespace";
  if (!attach(lower, in("lower"), MOUNT_ATTR_RDONLY, ids)) {
    return "map the owners of the image " + from.lower +
           " (its file system must know id-mapped mounts: ext4, xfs, btrfs)";
  }
  ::close(lower);
  ::close(ids);
  // Relative names need no care for what the option's words mean.
  if (::chdir(base.c_str()) != 0 || ::mount("overlay", in("root").c_str(), "overlay", MS_NODEV,
                                            "lowerdir=lower,upperdir=upper,workdir=work") != 0) {
    return "mount the container's root directory (is overlayfs in the kernel?)";
  }
  return ::chdir("/") == 0 ? "" : "leave it";
}

std::string keep_root(const RootFrom& from, const std::string& base) {
  const int lock = ::open((base + kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0 || ::flock(lock, LOCK_EX) != 0) return "lock " + base;
  if (::access((base + kMade).c_str(), F_OK) == 0) {
    const bool is_there = ::access((base + "/root").c_str(), F_OK) == 0;
    ::close(lock);
    if (is_there) return "";
    errno = ESTALE;
    return "find the container of that name again: it went with the mounts of a former agent";
  }
  if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) return "make " + base;
  ::umount2((base + "/root").c_str(), MNT_DETACH);  // what was half made
  ::umount2((base + "/lower").c_str(), MNT_DETACH);
  ::umount2(base.c_str(), MNT_DETACH);
  if (::mount("dove", base.c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
              ("mode=755,size=" + from.scratch_bytes).c_str()) != 0 ||
      ::mount(nullptr, base.c_str(), nullptr, MS_PRIVATE, nullptr) != 0) {
    return "mount the scratch space at " + base;
  }
  if (std::string what = make_layers(from, base); !what.empty()) return what;
  const int made = ::open((base + kMade).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (made < 0) return "note that " + base + " was made";
  ::close(made);
  ::close(lock);
  return "";
}

int drop_root(const std::string& base) {
  for (const char* name : {"/root", "/lower", ""}) ::umount2((base + name).c_str(), MNT_DETACH);
  for (const char* end : {kMade, kLock}) ::unlink((base + end).c_str());
  return ::rmdir(base.c_str()) == 0 || errno == ENOENT ? 0 : 1;
}

}  // namespace dove::contain
