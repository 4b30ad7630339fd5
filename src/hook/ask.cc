#include "hook/ask.h"

#include <fmt/format.h>

#include <algorithm>

#include "command/command.h"
#include "openid/provider.h"
#include "wire/client.h"
#include "wire/tls/sealed_box.h"

namespace dove::hook {
namespace {

constexpr int kRefusedStatus = 1;

Error refused(std::string why) {
  return {ErrorKind::kUnauthenticated, "refused", std::move(why), ""};
}

Error failed(std::string why) {
  return {ErrorKind::kUnavailable, "hook_failed", std::move(why), ""};
}

// A reason of ours, and what the hook has said beside it.
std::string with(std::string why, const std::string& said) {
  return said.empty() ? why : fmt::format("{}; it says: {}", why, said);
}

Result<Person> ask_program(const Hook& hook, const Question& question) {
  command::Wanted wanted;
  wanted.words = {hook.program};
  wanted.limit = hook.limit;
  wanted.output_max = kAnswerBytesMax;
  wanted.input = question_text(question);
  wanted.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"};
  wanted.own_session = true;
  Result<command::End> end = command::run(wanted);
  wire::wipe(wanted.input);
  if (!end.ok()) return failed(end.error().message);
  const std::string said = quiet(end->said, question.password);
  if (end->code == kRefusedStatus) return refused(with("exit status 1", said));
  if (end->code != 0) return failed(with(fmt::format("exit status {}", end->code), said));
  return read_answer(end->output);
}

// The client's messages may hold the whole URL, with what is secret in it.
Result<Person> ask_server(const Hook& hook, const Question& question) {
  wire::ClientOptions options;
  options.timeout_ms = static_cast<int>(hook.limit.count());
  options.connect_timeout_ms = std::min(options.connect_timeout_ms, options.timeout_ms);
  options.ca_file = hook.ca_file;
  options.response_bytes_max = kAnswerBytesMax;
  const auto [base, target] = openid::split_url(hook.url);
  wire::Client client(base, options);
  std::string body = question_text(question);
  const Result<wire::Response> answer = client.call(
      "POST", target, body, {{"Content-Type", "application/json"}, {"Accept", "application/json"}});
  wire::wipe(body);
  if (!answer.ok()) return failed(fmt::format("no answer: {}", answer.error().code));
  if (answer->status == 401) return refused("status 401");
  if (answer->status != 200) return failed(fmt::format("status {}", answer->status));
  return read_answer(answer->body);
}

}  // namespace

Result<Person> ask(const Hook& hook, Question question) {
  Result<Person> person =
      hook.program.empty() ? ask_server(hook, question) : ask_program(hook, question);
  // The hook's own reason is a text of strangers: it may hold the password, too.
  if (!person.ok() && person.error().code == "refused") {
    person = refused(quiet(person.error().message, question.password));
  }
  wire::wipe(question.password);
  return person;
}

}  // namespace dove::hook
