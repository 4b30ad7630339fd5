#include "hook/hook.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "files/guarded_file.h"
#include "openid/provider.h"

namespace dove::hook {
namespace {

Error bad(std::string why) { return {ErrorKind::kInvalid, "bad_hook", std::move(why), ""}; }

Result<std::string> checked_program(const std::string& given) {
  Result<std::string> path = files::guarded_file(given);
  if (!path.ok()) return bad(path.error().message);
  if (::access(path->c_str(), X_OK) != 0) {
    return bad(fmt::format("{} cannot be executed: `chmod u+x` it", *path));
  }
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
