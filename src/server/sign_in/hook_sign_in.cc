#include "server/sign_in/hook_sign_in.h"

#include "listener/throttle.h"
#include "server/sign_in/hook_person.h"
#include "server/sign_in/local_password.h"
#include "server/sign_in/session.h"
#include "telemetry/log.h"

namespace dove::server {
namespace {

using telemetry::Level;

void write_down(const Call& call, Level level, const char* event, const std::string& why) {
  const std::string_view host = listener::host_of_peer(call.request.peer_address);
  telemetry::log(level, event, {{"address", host}, {"why", why}});
}

void let_in(Context& context, const CallPtr& call, const hook::Person& answer) {
  const auto person = hook_person(context.state(), context.desk.controller.policies(), answer);
  if (!person.ok()) {
    if (person.error().code == "hook_failed") {
      write_down(*call, Level::kWarning, "hook_failed",
                 "its answer has a name that no user here can have");
    }
    return refuse_sign_in(context, call, person.error());
  }
  let_person_in(context, call, "hook", *person,
                [&context, call] { answer_session(context, call); });
}

}  // namespace

void sign_in_by_hook(Context& context, const CallPtr& call, hook::Question question,
                     PasswordTry tried, Result<void> may) {
  const auto queued = context.ways.at_hook.call(
      [ask = context.ways.ask_hook, question = std::move(question)]() mutable {
        return ask(std::move(question));
      },
      [&context, call, tried = std::move(tried),
       may = std::move(may)](const Result<hook::Person>& answer) {
        if (!answer.ok() && answer.error().code == "refused") {
          write_down(*call, Level::kInfo, "hook_refused", answer.error().message);
          return refuse_password(context, call, tried, wrong_password());
        }
        if (!answer.ok()) {
          write_down(*call, Level::kWarning, "hook_failed", answer.error().message);
          return refuse_password(context, call, tried, hook_failed());
        }
        if (!may.ok()) return call->fail(may.error());
        // Two first sign-ins at once must not both make the user, or undo each other's groups.
        context.declaring.wait([&context, call, answer = *answer](Turns::Turn turn) {
          call->turn = std::move(turn);
          let_in(context, call, answer);
        });
      });
  if (!queued.ok()) call->fail(queued.error());
}

}  // namespace dove::server
