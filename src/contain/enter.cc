#include "contain/enter.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "contain/layers.h"
#include "contain/network.h"
#include "containers/place.h"

namespace dove::contain {
namespace {

using containers::kPlace;

constexpr const char kPlaceBytes[] = "1m";  // where nothing is written but names

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
  bool lower_is_owned = false;
  std::string kept;     // root directory that stays for others; "": it goes with the container
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

// The task's alone: nobody else sees its files, and its pages go with it.
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
  if (bind.how.ends_with("ro")) restrictions |= MOUNT_ATTR_RDONLY;
  const int ids = bind.how.starts_with("owned") ? ids_of_owner(facts, plan.uids, plan.gids) : -1;
  if (!attach(from, target, restrictions, ids)) give_up(plan, "mount the volume " + shown);
  ::close(from);
  if (ids >= 0) ::close(ids);
}

RootFrom root_of(const Plan& plan) {
  return RootFrom{plan.lower, plan.uids, plan.gids, plan.scratch_bytes, plan.lower_is_owned};
}

void make_root(const Plan& plan) {
  const std::string size = plan.kept.empty() ? plan.scratch_bytes : kPlaceBytes;
  if (::mount("dove", kPlace, "tmpfs", MS_NOSUID | MS_NODEV, ("mode=755,size=" + size).c_str()) !=
      0) {
    give_up(plan, std::string("mount the scratch space at ") + kPlace);
  }
  if (plan.kept.empty()) {
    if (const std::string what = make_layers(root_of(plan), kPlace); !what.empty()) {
      give_up(plan, what);
    }
  } else {
    const int root = ::open((plan.kept + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || ::mkdir(place("root").c_str(), 0755) != 0 || !attach(root, place("root"))) {
      give_up(plan, "mount the container's root directory " + plan.kept);
    }
    ::close(root);
  }
  // Without what is mounted in it: no cgroups, no debugging of the kernel.
  const int sys = ::open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
  constexpr std::uint64_t kLooks =
      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  if (sys < 0 || ::mkdir(place("sys").c_str(), 0755) != 0 || !attach(sys, place("sys"), kLooks)) {
    give_up(plan, "show /sys");
  }
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
    } else if (word == "--owned-lower") {
      plan.lower_is_owned = true;
    } else if (word == "--kept" && left > 1) {
      plan.kept = argv[++i];
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
  if (!plan.kept.empty()) {
    if (const std::string what = keep_root(root_of(plan), plan.kept); !what.empty()) {
      give_up(plan, what);
    }
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
