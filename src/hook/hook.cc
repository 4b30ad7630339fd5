#include "hook/hook.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "openid/provider.h"

namespace dove::hook {
namespace {

namespace fs = std::filesystem;

Error bad(std::string why) { return {ErrorKind::kInvalid, "bad_hook", std::move(why), ""}; }

Result<void> check_owner(const std::string& path, const struct stat& seen, mode_t excused) {
  if (seen.st_uid != 0 && seen.st_uid != ::geteuid()) {
    return bad(
        fmt::format("{} belongs to another user, who could change it: `chown root` it", path));
  }
  if ((seen.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (seen.st_mode & excused) != 0) return {};
  return bad(fmt::format("others may write in {}: `chmod go-w` it", path));
}

// Whoever may rename a folder on the way puts another program in this one's place.
Result<void> check_folders(const fs::path& folder) {
  for (fs::path at = folder;; at = at.parent_path()) {
    struct stat seen = {};
    if (::stat(at.c_str(), &seen) != 0) {
      return bad(fmt::format("{}: {}", at.string(), std::strerror(errno)));
    }
    // Further up, the sticky bit of a place such as /tmp is enough.
    TRY(check_owner(at.string(), seen, at == folder ? 0 : S_ISVTX));
    if (at == at.root_path()) return {};
  }
}

// The path without links on the way, which others might turn elsewhere.
Result<std::string> checked_program(const fs::path& given) {
  std::error_code trouble;
  const fs::path folder = fs::canonical(given.parent_path(), trouble);
  if (trouble) return bad(fmt::format("{}: {}", given.string(), trouble.message()));
  std::string path = folder / given.filename();
  struct stat seen = {};
  if (::lstat(path.c_str(), &seen) != 0) {
    return bad(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(seen.st_mode)) {
    return bad(
        fmt::format("{} is no regular file (a link is none): name the program itself", path));
  }
  if (::access(path.c_str(), X_OK) != 0) {
    return bad(fmt::format("{} cannot be executed: `chmod u+x` it", path));
  }
  TRY(check_owner(path, seen, 0));
  TRY(check_folders(folder));
  return path;
}

}  // namespace

Result<Hook> hook_of(const std::string& given, const std::string& ca_file) {
  Hook hook;
  hook.ca_file = ca_file;
  if (given.starts_with('/')) {
    if (!ca_file.empty()) return bad("an authority is for a hook at an https:// address");
    TRY_ASSIGN(hook.program, checked_program(given));
    return hook;
  }
  if (given.find("://") == std::string::npos) {
    return bad("it is the absolute path of a program, or begins with https://");
  }
  // To our client a comma separates servers that stand in for each other.
  const bool is_one = openid::split_url(given).first.find(',') == std::string::npos;
  if (!is_one || !openid::is_safe_url(given)) {
    return bad("passwords pass there: it begins with https://, or is http:// of this machine");
  }
  if (!ca_file.empty() && ::access(ca_file.c_str(), R_OK) != 0) {
    return bad(fmt::format("{}: {}", ca_file, std::strerror(errno)));
  }
  hook.url = given;
  return hook;
}

}  // namespace dove::hook
