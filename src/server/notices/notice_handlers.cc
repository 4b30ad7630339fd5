// /v1/users/{name}/notices: where somebody hears of what, and whether it arrives.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/declared_patch.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "core/state/people.h"
#include "notices/target.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/notices/declared_targets.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

// Whose notices the call is about: one's own, or those of a user whom the caller administers.
Result<UserDeclaration> user_of(const Context& context, const Call& call) {
  const std::string& name = call.parameters[0];
  const auto found = context.state().users.find(name);
  const bool is_own = call.caller.user == name;
  if (found == context.state().users.end()) {
    if (!is_own && !call.caller.admin) return not_found("user", name);
    return Error{
        ErrorKind::kNotFound, "no_such_user",
        fmt::format("no user {} is declared, so nobody keeps what they choose; `dove token "
                    "create --create {}` declares one",
                    name.substr(0, 64), name.substr(0, 64)),
        "name"};
  }
  const Declared object(found->second);
  if (is_own || accounts::may_apply(context.state(), call.caller, &object, &object).ok()) {
    return found->second;
  }
  if (!may_see(context.state(), call.caller, object)) return not_found("user", name);
  return Error{ErrorKind::kDenied, "role_needed",
               "people choose their own notices; an administrator may, too", "name"};
}

Json answer_of(const Context& context, const std::string& user) {
  const notices::Settings& settings = context.office.settings();
  return Json{{"user", user},
              {"mail", settings.smtp.has_value()},
              {"webhooks", settings.webhooks},
              {"targets", context.office.targets_json(user)}};
}

}  // namespace

void get_notices(Context& context, CallPtr call) {
  const Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  call->reply(200, answer_of(context, user->name));
}

void set_notices(Context& context, CallPtr call) {
  const Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  Json targets;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    if (const Json* given = fields.find("targets")) targets = *given;
    if (!targets.is_array()) {
      fields.fail("targets", "missing_field", "give the whole list; an empty one ends all notices");
    }
  });
  if (!read.ok()) return call->fail(read.error());
  Result<Declared> wanted =
      codec::read_declared(codec::patched(Declared(*user), Json{{"notices", targets}}));
  if (!wanted.ok()) return call->fail(wanted.error());
  const Result<void> taken = take_targets(context, Declared(*user), *wanted);
  if (!taken.ok()) return call->fail(taken.error());
  if (*wanted == Declared(*user)) return call->reply(200, answer_of(context, user->name));
  const Call& asked = *call;
  context.desk.submit(asked, ObjectApplied{std::move(wanted).value()},
                      [&context, call, name = user->name](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->reply(200, answer_of(context, name));
                      });
}

void test_notice(Context& context, CallPtr call) {
  const Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  const std::string& text = call->parameters[1];
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number == 0) {
    return call->fail(not_found("target", text));
  }
  context.office.test(user->name, number - 1, [call](const Result<notices::Attempted>& attempted) {
    if (!attempted.ok()) return call->fail(attempted.error());
    const bool delivered = attempted->ending == notices::Attempted::Ending::kDelivered;
    Json answer{{"delivered", delivered}};
    if (!delivered) {
      answer["code"] = attempted->error.code;
      answer["detail"] = attempted->error.message;
    }
    call->reply(200, answer);
  });
}

Result<void> take_targets(const Context& context, const std::optional<Declared>& before,
                          Declared& after) {
  auto* user = std::get_if<UserDeclaration>(&after);
  if (user == nullptr) return {};
  const auto* former = before.has_value() ? std::get_if<UserDeclaration>(&*before) : nullptr;
  const std::vector<NoticeTarget> declared =
      former == nullptr ? std::vector<NoticeTarget>{} : former->notices;
  for (NoticeTarget& target : user->notices) {
    TRY_ASSIGN(target, notices::unshown(target, declared));
  }
  if (user->notices == declared) return {};
  TRY(notices::check_targets(context.office.settings(), user->notices));
  const bool is_admin = core::standing_of(context.state(), user->name).cluster.has(Role::kAdmin);
  for (const NoticeTarget& target : user->notices) {
    if (is_admin || std::ranges::find(target.about, NoticeAbout::kNodeSick) == target.about.end()) {
      continue;
    }
    return invalid("not_an_administrator",
                   fmt::format("only administrators of the cluster hear of sick nodes, and {} is "
                               "not one: leave out node_sick",
                               user->name),
                   "about");
  }
  return {};
}

}  // namespace dove::server
