#include "pam/check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <security/pam_appl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "pam/message.h"

namespace dove::pam {
namespace {

constexpr std::size_t kQuestionBytesMax = 8192;

// Hidden input gets the password; messages are for nobody; other questions cannot be answered.
int converse(int count, const pam_message** messages, pam_response** answers, void* password) {
  auto* out = static_cast<pam_response*>(
      std::calloc(static_cast<std::size_t>(count), sizeof(pam_response)));
  if (out == nullptr) return PAM_BUF_ERR;
  for (int i = 0; i < count; ++i) {
    const int style = messages[i]->msg_style;
    if (style == PAM_PROMPT_ECHO_OFF) {
      out[i].resp = ::strdup(static_cast<const std::string*>(password)->c_str());
    } else if (style == PAM_PROMPT_ECHO_ON) {
      for (int k = 0; k < i; ++k) std::free(out[k].resp);
      std::free(out);
      return PAM_CONV_ERR;
    }
  }
  *answers = out;
  return PAM_SUCCESS;
}

Error error_of(int code, pam_handle_t* handle) {
  switch (code) {
    case PAM_AUTH_ERR:
    case PAM_USER_UNKNOWN:
    case PAM_MAXTRIES:
    case PAM_PERM_DENIED:
      return {ErrorKind::kUnauthenticated, "wrong_password",
              "this is not the name and the password of an account here", "password"};
    case PAM_ACCT_EXPIRED:
    case PAM_NEW_AUTHTOK_REQD:
    case PAM_CRED_EXPIRED:
      return {
          ErrorKind::kUnauthenticated, "account_closed",
          fmt::format("this account cannot sign in: {}; change its password on a login node, or "
                      "ask an administrator",
                      pam_strerror(handle, code)),
          "user"};
    default:
      return {
          ErrorKind::kUnavailable, "pam_failed",
          fmt::format("the password could not be checked: {}; an administrator finds more in this "
                      "machine's journal",
                      pam_strerror(handle, code)),
          ""};
  }
}

Result<Account> account_of(pam_handle_t* handle) {
  const void* name = nullptr;
  if (pam_get_item(handle, PAM_USER, &name) != PAM_SUCCESS || name == nullptr) {
    return error_of(PAM_SYSTEM_ERR, handle);
  }
  Account account{static_cast<const char*>(name), 0};
  const passwd* entry = ::getpwnam(account.name.c_str());
  if (entry == nullptr) return error_of(PAM_USER_UNKNOWN, handle);
  account.uid = entry->pw_uid;
  account.name = entry->pw_name;  // one spelling of each account
  return account;
}

}  // namespace

Result<Account> check(const Service& service, const std::string& user,
                      const std::string& password) {
  pam_conv conversation{converse, const_cast<std::string*>(&password)};
  pam_handle_t* handle = nullptr;
  const char* directory = service.directory.empty() ? nullptr : service.directory.c_str();
  int code =
      pam_start_confdir(service.name.c_str(), user.c_str(), &conversation, directory, &handle);
  if (code != PAM_SUCCESS) return error_of(code, nullptr);
  code = pam_authenticate(handle, PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK);
  if (code == PAM_SUCCESS) code = pam_acct_mgmt(handle, PAM_SILENT);
  Result<Account> out = code == PAM_SUCCESS ? account_of(handle) : error_of(code, handle);
  pam_end(handle, code);
  return out;
}

int answer_one() {
  // Neither a core dump nor a module that prints is to carry what passes here.
  ::prctl(PR_SET_DUMPABLE, 0);
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (out < 0 || null < 0 || ::dup2(null, STDOUT_FILENO) < 0 || ::dup2(null, STDERR_FILENO) < 0) {
    return EXIT_FAILURE;
  }
  std::string text;
  char piece[1024];
  for (ssize_t got = 1; got > 0 && text.size() <= kQuestionBytesMax;) {
    got = ::read(STDIN_FILENO, piece, sizeof piece);
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  }
  const std::vector<std::string> question = parts_of(text);
  if (question.size() != 4) return EXIT_FAILURE;
  const Result<Account> account = check({question[0], question[1]}, question[2], question[3]);
  const std::string answer = account.ok()
                                 ? joined({"ok", account->name, std::to_string(account->uid)})
                                 : joined({account.error().code, account.error().message});
  return ::write(out, answer.data(), answer.size()) == static_cast<ssize_t>(answer.size())
             ? EXIT_SUCCESS
             : EXIT_FAILURE;
}

}  // namespace dove::pam
