#include "files/linux_users.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "files/descriptor.h"
#include "files/text_file.h"

namespace dove::files {
namespace {

constexpr std::size_t kEntryMax_bytes = 1 << 20;
constexpr std::size_t kNsswitchMax_bytes = 64 << 10;

struct Service {
  std::string_view module;  // as nsswitch.conf has it
  const char* name;
  const char* socket;
  const char* set_up_by;
  const char* or_by;  // a directory with something in it
};
// Distributions name sss for everybody, so the name alone does not say that it is to run.
constexpr std::array kServices = {
    Service{"sss", "sssd", "/var/lib/sss/pipes/nss", "/etc/sssd/sssd.conf", "/etc/sssd/conf.d"},
    Service{"ldap", "nslcd", "/var/run/nslcd/socket", "/etc/nslcd.conf", ""},
    Service{"winbind", "winbindd", "/run/samba/winbindd/pipe", "/etc/samba/smb.conf", ""},
};

bool is_set_up(const Service& service, const std::string& root) {
  std::error_code error;
  if (std::filesystem::exists(root + service.set_up_by, error)) return true;
  if (*service.or_by == '\0') return false;
  return std::filesystem::directory_iterator(root + service.or_by, error) !=
         std::filesystem::directory_iterator();
}

bool takes_connections(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return true;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return true;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return true;
  }
  return errno != ENOENT && errno != ECONNREFUSED;
}

// The modules of the line "passwd:"; what is in brackets is none.
std::vector<std::string> modules(const std::string& root) {
  std::istringstream lines(text_or_empty(root + "/etc/nsswitch.conf", kNsswitchMax_bytes));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word) || word != "passwd:") continue;
    while (words >> word) found.push_back(word);
  }
  return found;
}

// What getpwnam(3) names for a user that is not there.
bool says_nobody(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

}  // namespace

std::string absent_service(const std::string& root) {
  for (const std::string& module : modules(root)) {
    for (const Service& service : kServices) {
      if (service.module != module || !is_set_up(service, root)) continue;
      if (!takes_connections(root + service.socket)) return service.name;
    }
  }
  return "";
}

LinuxLookUp look_up(const std::string& name) {
  std::vector<char> room(4096);
  passwd entry{};
  passwd* found = nullptr;
  int error = 0;
  for (;;) {
    error = name.empty() ? ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found)
                         : ::getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
    if (error == EINTR) continue;
    if (error != ERANGE || room.size() >= kEntryMax_bytes) break;
    room.resize(room.size() * 4);
  }
  using Answer = LinuxLookUp::Answer;
  if (found != nullptr) {
    return {Answer::kFound,
            {entry.pw_name, entry.pw_dir, entry.pw_shell, entry.pw_uid, entry.pw_gid},
            ""};
  }
  if (const std::string absent = absent_service(); !absent.empty()) {
    return {Answer::kUnsure, {}, absent + " does not run"};
  }
  if (says_nobody(error)) return {};
  return {Answer::kUnsure, {}, std::string("the directory of users: ") + std::strerror(error)};
}

}  // namespace dove::files
