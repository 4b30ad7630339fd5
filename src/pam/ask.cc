#include "pam/ask.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "command/command.h"
#include "pam/message.h"

namespace dove::pam {
namespace {

constexpr std::size_t kAnswerBytesMax = 4096;

Error failed(const std::string& why) {
  return {
      ErrorKind::kUnavailable, "pam_failed",
      fmt::format("the password could not be checked: {}; try again, or sign in with a token", why),
      ""};
}

Result<Account> account_in(const std::string& answer) {
  const std::vector<std::string> parts = parts_of(answer);
  if (parts.size() == 3 && parts[0] == "ok") {
    Account account{parts[1], 0};
    const char* end = parts[2].data() + parts[2].size();
    const auto read = std::from_chars(parts[2].data(), end, account.uid);
    if (read.ec == std::errc() && read.ptr == end) return account;
  }
  if (parts.size() != 2) return failed("its process died");
  const ErrorKind kind =
      parts[0] == "pam_failed" ? ErrorKind::kUnavailable : ErrorKind::kUnauthenticated;
  return Error{kind, parts[0], parts[1], parts[0] == "account_closed" ? "user" : "password"};
}

}  // namespace

Result<Account> ask(const std::string& program, const Service& service, const std::string& user,
                    const std::string& password) {
  command::Wanted wanted;
  wanted.words = {program, "check-password"};
  wanted.output_max = kAnswerBytesMax;
  wanted.input = joined({service.name, service.directory, user, password});
  wanted.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};  // nothing of ours
  const Result<command::End> end = command::run(wanted);
  return end.ok() ? account_in(end->output) : failed(end.error().message);
}

}  // namespace dove::pam
