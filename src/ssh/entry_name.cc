#include "ssh/entry_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace dove::ssh {
namespace {

constexpr std::size_t kNameBytesMax = 128;
constexpr std::size_t kValueBytesMax = 256;

constexpr std::array<std::pair<std::string_view, int>, 13> kSignals{{{"ABRT", SIGABRT},
                                                                     {"ALRM", SIGALRM},
                                                                     {"FPE", SIGFPE},
                                                                     {"HUP", SIGHUP},
                                                                     {"ILL", SIGILL},
                                                                     {"INT", SIGINT},
                                                                     {"KILL", SIGKILL},
                                                                     {"PIPE", SIGPIPE},
                                                                     {"QUIT", SIGQUIT},
                                                                     {"SEGV", SIGSEGV},
                                                                     {"TERM", SIGTERM},
                                                                     {"USR1", SIGUSR1},
                                                                     {"USR2", SIGUSR2}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_of_job(char c) { return is_digit(c) || c == '_'; }
bool is_of_task(char c) {
  return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || c == '_' || c == '-' || c == '/';
}

}  // namespace

Result<EntryName> read_entry_name(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view job = text.substr(0, dot);
  const std::string_view task = dot == text.size() ? std::string_view() : text.substr(dot + 1);
  const bool is_good = text.size() <= kNameBytesMax && !job.empty() && is_digit(job.front()) &&
                       std::all_of(job.begin(), job.end(), is_of_job) &&
                       (dot == text.size() || !task.empty()) &&
                       std::all_of(task.begin(), task.end(), is_of_task);
  if (is_good) return EntryName{std::string(job), std::string(task)};
  return Error{
      ErrorKind::kInvalid, "bad_ssh_name",
      "the name before the @ is a job's number, as in `ssh 42@gateway`, or with a task, as "
      "in 42.3@gateway or 42.worker/1@gateway; your own name is known by your key",
      "user"};
}

bool may_set(std::string_view name, std::string_view value) {
  const bool is_locale =
      name == "LANG" ||
      (name.starts_with("LC_") && name.size() <= 32 &&
       std::all_of(name.begin(), name.end(), [](char c) { return is_upper(c) || c == '_'; }));
  return is_locale && value.size() <= kValueBytesMax &&
         std::all_of(value.begin(), value.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

int signal_of(std::string_view name) {
  for (const auto& [each, number] : kSignals) {
    if (each == name) return number;
  }
  return 0;
}

std::string_view signal_name(int number) {
  for (const auto& [each, own] : kSignals) {
    if (own == number) return each;
  }
  return "";
}

}  // namespace dove::ssh
