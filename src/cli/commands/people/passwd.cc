#include "cli/commands/people/passwd.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/views.h"
#include "cli/terminal/hidden_input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "wire/tls/sealed_box.h"

namespace dove::cli {
namespace {

using nlohmann::json;

// Nobody mistakes one of these for another.
constexpr std::string_view kLetters = "abcdefghijkmnpqrstuvwxyz23456789";
constexpr std::size_t kGroups = 4;
constexpr std::size_t kGroupLetters = 5;  // 100 random bits in all

std::string one_time_password() {
  static_assert(kLetters.size() == 32);
  const std::string bytes = wire::random_bytes(kGroups * kGroupLetters);
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % kGroupLetters == 0) out += '-';
    out += kLetters[static_cast<unsigned char>(bytes[i]) % kLetters.size()];
  }
  return out;
}

bool asks_people() { return ::isatty(STDIN_FILENO) != 0; }

// The next line of standard input.
Result<std::string> line_of_input(const char* what) {
  std::string line;
  if (std::getline(std::cin, line) && !line.empty()) return line;
  return usage_error(fmt::format("standard input ends before {}, and nothing is changed", what));
}

// Typed twice where nobody sees it, or the next line of standard input.
Result<std::string> new_password(const std::string& user) {
  if (!asks_people()) return line_of_input("the new password");
  TRY_ASSIGN(const std::string once, ask_hidden(fmt::format("new password of {}: ", user)));
  TRY_ASSIGN(const std::string again, ask_hidden("the same again: "));
  if (once == again) return once;
  return usage_error("the two passwords differ, and nothing is changed");
}

Result<json> send_password(Api& api, const std::string& target, json body) {
  Result<json> answer = api.send("PUT", target, body);
  for (auto& [name, text] : body.items()) wire::wipe(text.get_ref<std::string&>());
  return answer;
}

void say_until(const std::string& user, const json& answer) {
  const std::int64_t until_us = number_of(answer, "once_until_us");
  if (until_us == 0) return;
  say(fmt::format("{} signs in with it once, until {}, and then chooses another one", user,
                  when_text(until_us)));
}

Result<int> set_own(Api& api, const std::string& user, const std::string& target) {
  TRY_ASSIGN(const std::string former, asks_people() ? ask_hidden("former password: ")
                                                     : line_of_input("the former password"));
  TRY_ASSIGN(const std::string wanted, new_password(user));
  TRY_ASSIGN(const json answer,
             send_password(api, target, {{"former", former}, {"password", wanted}}));
  print(fmt::format("the password of {} is set\n", user));
  say_until(user, answer);  // `dove up`'s own user sets it as its administrator
  const std::int64_t ended = number_of(answer, "sessions_ended");
  if (ended > 0) say(fmt::format("{} sessions of browsers are ended", ended));
  return kExitOk;
}

Result<int> set_anothers(Api& api, const Invocation& invocation, const std::string& user,
                         const std::string& target) {
  const bool generates = invocation.has("generate") || asks_people();
  std::string wanted;
  if (generates) {
    wanted = one_time_password();
  } else {
    TRY_ASSIGN(wanted, line_of_input("the password; --generate makes one"));
  }
  TRY_ASSIGN(const json answer, send_password(api, target, {{"password", wanted}}));
  if (generates) {
    print(wanted + "\n");
  } else {
    print(fmt::format("the password of {} is set\n", user));
  }
  say_until(user, answer);
  return kExitOk;
}

Result<int> run_passwd(const Invocation& invocation) {
  if (invocation.has("remove") && invocation.has("generate")) {
    return usage_error("--remove and --generate exclude each other: leave out one of them");
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json me, api.get("/v1/me"));
  const std::string own = text_of(me, "user");
  const std::string user = invocation.operands.empty() ? own : invocation.operands[0];
  if (user == "admin") {
    return usage_error(
        "the administrator's token is nobody's in particular: say whose password, as in `dove "
        "passwd ada`");
  }
  const std::string target = "/v1/users/" + wire::percent_encode(user) + "/password";
  if (invocation.has("remove")) {
    TRY(api.send("DELETE", target, json()));
    print(fmt::format("{} has no password here any more\n", user));
    say("sessions and keys stay as they are: `dove key list` shows them");
    return kExitOk;
  }
  if (user != own) return set_anothers(api, invocation, user, target);
  if (invocation.has("generate")) return usage_error("--generate is for the password of others");
  return set_own(api, user, target);
}

}  // namespace

Command passwd_command() {
  CommandSpec spec;
  spec.name = "passwd";
  spec.summary = "Set the password that you sign in with, or somebody else's";
  spec.group = "People";
  spec.operands = "[USER]";
  spec.operands_max = 1;
  spec.description =
      "For a server that keeps passwords of its own (--local-passwords). Asks for the former\n"
      "password and twice for the new one; without a terminal it reads both as two lines of\n"
      "standard input. It signs you out of all browsers. With USER, for administrators: prints a\n"
      "password that works once, within a week, to choose another one; without a terminal it\n"
      "reads that password from standard input.";
  spec.options = {{"generate", 0, "", "make the password of USER, without a terminal too"},
                  {"remove", 0, "", "remove USER's password; administrators only"}};
  return {spec, guarded("passwd", run_passwd)};
}

}  // namespace dove::cli
