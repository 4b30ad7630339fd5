#include "contain/enter.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "contain/network.h"
#include "containers/place.h"

namespace dove::contain {
namespace {

using containers::kPlace;

struct Bind {
  std::string how;
  std::string root;
  std::string path;
};

struct Plan {
  std::string log;
  std::string uids;
  std::string gids;
  std::string scratch_bytes;
  std::string lower;
  std::string network;  // file; "": the machine's
  std::vector<int> published;
  std::vector<Bind> binds;
  char** runtime = nullptr;
};

std::string place(const std::string& name) { return std::string(kPlace) + "/" + name; }

// False with errno kept for the message.
[[noreturn]] void give_up(const Plan& plan, const std::string& doing) {
  std::string text = "cannot " + doing + ": " + std::strerror(errno);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '"' || c == '\\' || c < ' '; }, '?');
  text = R"({"level":"error","msg":")" + text + "\"}\n";
  const int fd = ::open(plan.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, text.data(), text.size()) < 0) ::_exit(126);
  ::_exit(125);
}

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

// A user namespace with these maps, for mounts; -1 and errno.
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

// Mounts what `from` is open on at `target`, which exists.
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

int open_below(const std::string& root, const std::string& path) {
  const int base = ::open(root.c_str(), O_PATH | O_CLOEXEC);
  if (base < 0 || path.empty()) return base;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const int fd = static_cast<int>(::syscall(SYS_openat2, base, path.c_str(), &how, sizeof how));
  const int reason = errno;
  ::close(base);
  errno = reason;
  return fd;
}

// The first of the container's ids outside: its root's.
std::string outside_root(const std::string& map) {
  const std::size_t from = map.find(':') + 1;
  return map.substr(from, map.find(':', from) - from);
}

// What belongs to the directory's owner belongs to root inside. Not what belongs to the machine's
// root: a program of it with the set-user-ID bit would be root's outside.
int ids_of_owner(const Plan& plan, const struct stat& facts) {
  if (facts.st_uid == 0 || facts.st_gid == 0) return -1;
  return user_namespace(std::to_string(facts.st_uid) + ":" + outside_root(plan.uids) + ":1",
                        std::to_string(facts.st_gid) + ":" + outside_root(plan.gids) + ":1");
}

// Of the task alone: nobody else sees its files, and its pages go with it.
void mount_huge_pages(const Plan& plan, const Bind& bind, const std::string& target) {
  const std::string options = "mode=1777,pagesize=" + bind.root + ",size=" + bind.path +
                              ",uid=" + outside_root(plan.uids) + ",gid=" + outside_root(plan.gids);
  if (::mkdir(target.c_str(), 0755) != 0 ||
      ::mount("hugetlbfs", target.c_str(), "hugetlbfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              options.c_str()) != 0) {
    give_up(plan,
            "mount huge pages of " + bind.root + " bytes (has the kernel pages of that size?)");
  }
}

void bind_one(const Plan& plan, std::size_t index) {
  const Bind& bind = plan.binds[index];
  if (bind.how == "huge") {
    return mount_huge_pages(plan, bind, place("bind" + std::to_string(index)));
  }
  const std::string shown = bind.root + (bind.path.empty() ? "" : "/" + bind.path);
  const int from = open_below(bind.root, bind.path);
  struct stat facts {};
  if (from < 0 || ::fstat(from, &facts) != 0) give_up(plan, "open the volume " + shown);
  const std::string target = place("bind" + std::to_string(index));
  const bool made =
      S_ISDIR(facts.st_mode)
          ? ::mkdir(target.c_str(), 0755) == 0
          : ::close(::open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) == 0;
  const bool can_be_seen =
      S_ISDIR(facts.st_mode) || S_ISREG(facts.st_mode) || S_ISSOCK(facts.st_mode);
  if (!made || !can_be_seen) {
    give_up(plan, "mount " + shown + ", which is neither a directory, a file nor a socket");
  }
  std::uint64_t restrictions = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (bind.how == "ro") restrictions |= MOUNT_ATTR_RDONLY;
  const int ids = bind.how == "owned" ? ids_of_owner(plan, facts) : -1;
  if (!attach(from, target, restrictions, ids)) give_up(plan, "mount the volume " + shown);
  ::close(from);
  if (ids >= 0) ::close(ids);
}

void make_root(const Plan& plan) {
  if (::mount("dove", kPlace, "tmpfs", MS_NOSUID | MS_NODEV,
              ("mode=755,size=" + plan.scratch_bytes).c_str()) != 0) {
    give_up(plan, std::string("mount the scratch space at ") + kPlace);
  }
  for (const char* name : {"lower", "upper", "work", "root", "sys"}) {
    if (::mkdir(place(name).c_str(), 0755) != 0) give_up(plan, "make " + place(name));
  }
  const auto uid = static_cast<uid_t>(std::strtoul(outside_root(plan.uids).c_str(), nullptr, 10));
  const auto gid = static_cast<gid_t>(std::strtoul(outside_root(plan.gids).c_str(), nullptr, 10));
  if (::chown(place("upper").c_str(), uid, gid) != 0) give_up(plan, "own the scratch space");
  const int ids = user_namespace(plan.uids, plan.gids);
  if (ids < 0) give_up(plan, "make a user namespace");
  const int lower = ::open(plan.lower.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (lower < 0 || !attach(lower, place("lower"), MOUNT_ATTR_RDONLY, ids)) {
    give_up(plan, "map the owners of the image " + plan.lower +
                      " (its file system must know id-mapped mounts: ext4, xfs, btrfs)");
  }
  ::close(lower);
  ::close(ids);
  const std::string options =
      "lowerdir=" + place("lower") + ",upperdir=" + place("upper") + ",workdir=" + place("work");
  if (::mount("overlay", place("root").c_str(), "overlay", MS_NODEV, options.c_str()) != 0) {
    give_up(plan, "mount the container's root directory (is overlayfs in the kernel?)");
  }
  // Without what is mounted in it: no cgroups, no debugging of the kernel.
  const int sys = ::open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
  constexpr std::uint64_t kLooks =
      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  if (sys < 0 || !attach(sys, place("sys"), kLooks, -1)) give_up(plan, "show /sys");
  ::close(sys);
}

// Process 1 inherits the sockets; they are the machine's wherever it is.
void publish(const Plan& plan) {
  for (std::size_t i = 0; i < plan.published.size(); ++i) {
    const int port = plan.published[i];
    const int fd = listen_on(port);
    const int wanted = containers::kListenFd + static_cast<int>(i);
    if (fd < 0 || (fd != wanted && ::dup2(fd, wanted) < 0)) {
      give_up(plan, "listen on port " + std::to_string(port) + " of the node");
    }
    if (fd != wanted) ::close(fd);
  }
}

bool read_plan(int argc, char** argv, Plan& plan) {
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const int left = argc - i - 1;
    if (word == "--" && left > 0) {
      plan.runtime = argv + i + 1;
      return !plan.lower.empty() && !plan.uids.empty() && !plan.log.empty();
    }
    if (word == "--log" && left > 1) {
      plan.log = argv[++i];
    } else if (word == "--ids" && left > 2) {
      plan.uids = argv[++i];
      plan.gids = argv[++i];
    } else if (word == "--scratch" && left > 1) {
      plan.scratch_bytes = argv[++i];
    } else if (word == "--lower" && left > 1) {
      plan.lower = argv[++i];
    } else if (word == "--network" && left > 1) {
      plan.network = argv[++i];
    } else if (word == "--publish" && left > 1) {
      plan.published.push_back(std::atoi(argv[++i]));
    } else if (word == "--bind" && left > 3) {
      plan.binds.push_back(Bind{argv[i + 1], argv[i + 2], argv[i + 3]});
      i += 3;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace

int enter(int argc, char** argv) {
  Plan plan;
  if (!read_plan(argc, argv, plan)) return 2;
  publish(plan);
  if (!plan.network.empty()) {
    if (const std::string what = join_network(plan.network); !what.empty()) give_up(plan, what);
  }
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    give_up(plan, "make a mount namespace (containers need an agent that runs as root)");
  }
  make_root(plan);
  for (std::size_t i = 0; i < plan.binds.size(); ++i) bind_one(plan, i);
  ::execv(plan.runtime[0], plan.runtime);
  give_up(plan, std::string("execute ") + plan.runtime[0]);
}

}  // namespace dove::contain
