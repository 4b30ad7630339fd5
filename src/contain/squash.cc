#include "contain/squash.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace dove::contain {
namespace {

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  bool own = true;  // stay who we are
};

int failed(const std::string& what) {
  const std::string text = "cannot " + what + ": " + std::strerror(errno) + "\n";
  if (::write(2, text.data(), text.size()) < 0) return 1;
  return 1;
}

// "UID:GID:GROUP,…", or "".
User read_user(const char* text) {
  User user;
  if (*text == '\0') return user;
  user.own = false;
  char* at = nullptr;
  user.uid = static_cast<uid_t>(std::strtoul(text, &at, 10));
  if (*at == ':') user.gid = static_cast<gid_t>(std::strtoul(at + 1, &at, 10));
  while (*at == ':' || *at == ',') {
    if (at[1] == '\0') break;
    user.groups.push_back(static_cast<gid_t>(std::strtoul(at + 1, &at, 10)));
  }
  return user;
}

bool become(const User& user) {
  if (user.own) return true;
  return user.uid != 0 && ::setgroups(user.groups.size(), user.groups.data()) == 0 &&
         ::setresgid(user.gid, user.gid, user.gid) == 0 &&
         ::setresuid(user.uid, user.uid, user.uid) == 0;
}

// The path of one of squashfs-tools; "" with a line of text: it is not there.
std::string tool(const char* name) {
  for (const char* directory : {"/usr/local/bin/", "/usr/bin/", "/usr/sbin/"}) {
    std::string path = std::string(directory) + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  const std::string text = "this node has no " + std::string(name) +
                           " for squash files: install it (on Debian: apt install "
                           "squashfs-tools)\n";
  if (::write(2, text.data(), text.size()) < 0) return "";
  return "";
}

// Whether the program, which says why if not, did its work.
bool run(std::vector<std::string> words) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(pointers[0], pointers.data());
    ::_exit(failed("execute " + words[0]));
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

std::string stamp(const struct stat& facts) {
  return "." + std::to_string(facts.st_dev) + "-" + std::to_string(facts.st_ino) + "-" +
         std::to_string(facts.st_size) + "-" + std::to_string(facts.st_mtim.tv_sec) + "." +
         std::to_string(facts.st_mtim.tv_nsec);
}

bool lead(const std::string& link, const std::string& folder) {
  const std::string fresh = link + ".new";
  ::unlink(fresh.c_str());
  return ::symlink(folder.substr(folder.rfind('/') + 1).c_str(), fresh.c_str()) == 0 &&
         ::rename(fresh.c_str(), link.c_str()) == 0;
}

// In the child, as its user, with nothing of the store but the directory that it is in.
[[noreturn]] void unpack_as(const User& user, const char* path, const std::string& part,
                            const struct stat& known) {
  if (::chdir(part.c_str()) != 0 || !become(user)) ::_exit(failed("enter " + part));
  const int fd = ::open(path, O_RDONLY | O_NONBLOCK);
  struct stat facts {};
  if (fd < 0 || ::fstat(fd, &facts) != 0) ::_exit(failed("read " + std::string(path)));
  if (stamp(facts) != stamp(known)) {
    errno = ESTALE;
    ::_exit(failed("read " + std::string(path)));
  }
  const std::string program = tool("unsquashfs");
  if (program.empty()) ::_exit(1);
  // Devices and owners are root's alone to make: exit status 2 says that some were left out.
  const bool done = run({program, "-no-progress", "-quiet", "-no-xattrs", "-no-exit-code", "-d",
                         "rootfs", "/proc/self/fd/" + std::to_string(fd)});
  ::_exit(done ? 0 : 1);
}

// What `user` sees of the file.
bool look(const User& user, const char* path, struct stat& facts) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!become(user)) ::_exit(failed("become the job's user"));
    const int fd = ::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || ::fstat(fd, &facts) != 0) {
      ::_exit(failed("read the image " + std::string(path)));
    }
    if (!S_ISREG(facts.st_mode)) {
      errno = EINVAL;
      ::_exit(failed("read the image " + std::string(path) + ", which is no squash file"));
    }
    ::_exit(::write(ends[1], &facts, sizeof facts) == sizeof facts ? 0 : 1);
  }
  ::close(ends[1]);
  const bool told = ::read(ends[0], &facts, sizeof facts) == sizeof facts;
  ::close(ends[0]);
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && told && status == 0;
}

bool copy(int from, int to) {
  ssize_t sent = 0;
  while ((sent = ::sendfile(to, from, nullptr, std::size_t{1} << 24)) > 0) {
  }
  return sent == 0;
}

}  // namespace

int unsquash(char** words) {
  const User user = read_user(words[0]);
  const char* const path = words[1];
  const std::string link = words[2];
  struct stat facts {};
  if (!look(user, path, facts)) return 1;
  const std::string folder = link + stamp(facts);
  if (::access((folder + "/rootfs").c_str(), F_OK) == 0) {
    return lead(link, folder) ? 0 : failed("name " + folder);
  }
  const std::string part = folder + "." + std::to_string(::getpid()) + ".part";
  if (::mkdir(part.c_str(), 0755) != 0) return failed("make " + part);
  if (!user.own && ::chown(part.c_str(), user.uid, user.gid) != 0) return failed("own " + part);
  const pid_t child = ::fork();
  if (child == 0) unpack_as(user, path, part, facts);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) return 1;
  if (::chown(part.c_str(), 0, 0) != 0) return failed("own " + part);
  // Another may have been quicker.
  if (::rename(part.c_str(), folder.c_str()) != 0 &&
      ::access((folder + "/rootfs").c_str(), F_OK) != 0) {
    return failed("name " + folder);
  }
  return lead(link, folder) ? 0 : failed("name " + folder);
}

int save(char** words) {
  const User user = read_user(words[0]);
  const std::string root = words[1];
  const std::string path = words[2];
  const std::string part = words[3];
  const std::string program = tool("mksquashfs");
  if (program.empty()) return 1;
  ::unlink(part.c_str());
  if (!run({program, root, part, "-noappend", "-all-root", "-no-progress", "-quiet"})) return 1;
  const int from = ::open(part.c_str(), O_RDONLY | O_CLOEXEC);
  ::unlink(part.c_str());
  if (from < 0) return failed("read " + part);
  if (!become(user)) return failed("become the job's user");
  const std::string fresh = path + ".part";
  const int to = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (to < 0 || !copy(from, to) || ::fsync(to) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    if (to >= 0) ::unlink(fresh.c_str());
    errno = reason;
    return failed("write " + path);
  }
  return 0;
}

}  // namespace dove::contain
