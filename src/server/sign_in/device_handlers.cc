// /v1/device-sign-ins: `dove login` asks, a person who is signed in says yes, the program gets a
// key.
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "listener/throttle.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/new_key.h"
#include "server/sign_in/device_sign_ins.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr Span kKeyLasts = seconds(30 * 86'400);
constexpr std::int64_t kLongestWait_s = 25;
constexpr std::int64_t kLasts_s = 600;

// Codes are guessed in vain: who tries is an address that shows wrong ones.
void no_such_code(Context& context, const CallPtr& call) {
  const Error error{
      ErrorKind::kNotFound, "user_code_unknown",
      "no login is waiting for this code: it was answered, is over ten minutes old, or "
      "was mistyped",
      "code"};
  const std::string_view host = listener::host_of_peer(call->request.peer_address);
  call->fail(context.desk.throttle->failed(host, error, context.desk.loop.monotonic_us()));
}

}  // namespace

void begin_device_sign_in(Context& context, CallPtr call) {
  std::string name;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("name", name, {64, TextRule::Kind::kName});
    if (name.empty())
      fields.fail("name", "missing_field", "say who asks, as in \"dove on laptop\"");
  });
  if (!read.ok()) return call->fail(read.error());
  const std::string address(listener::host_of_peer(call->request.peer_address));
  const auto begun = context.ways.devices.begin(name, address);
  if (!begun.ok()) return call->fail(begun.error());
  call->reply(201, {{"device_code", begun->device_code},
                    {"user_code", begun->sign_in.user_code},
                    {"path", "/device?code=" + begun->sign_in.user_code},
                    {"expires_s", kLasts_s}});
}

void wait_for_device_sign_in(Context& context, CallPtr call) {
  std::string code;
  std::int64_t wait_s = 0;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("device_code", code, {128, TextRule::Kind::kLine});
    if (code.empty())
      fields.fail("device_code", "missing_field", "give the code that you were given");
    fields.integer("wait_s", wait_s, 0, kLongestWait_s);
  });
  if (!read.ok()) return call->fail(read.error());
  const auto waits = context.ways.devices.wait(
      code, std::chrono::seconds(wait_s), [call](const DeviceAnswer* answer) {
        if (answer == nullptr) return call->reply(202, {{"state", "waiting"}});
        if (!answer->approved) {
          return call->fail(Error{ErrorKind::kDenied, "device_refused",
                                  "whoever was asked did not let this program in", ""});
        }
        Json out = codec::key_json(answer->key);
        out.erase("issued_at");
        out.erase("issued_at_us");
        out["key"] = answer->secret;
        call->reply(200, out);
      });
  if (!waits.ok()) {
    const std::string_view host = listener::host_of_peer(call->request.peer_address);
    call->fail(
        context.desk.throttle->failed(host, waits.error(), context.desk.loop.monotonic_us()));
  }
}

void get_device_sign_in(Context& context, CallPtr call) {
  const DeviceSignIn* found = context.ways.devices.find(call->parameters[0]);
  if (found == nullptr) return no_such_code(context, call);
  Json out{{"user_code", found->user_code}, {"name", found->name}, {"address", found->address}};
  codec::put_instant(out, "asked_at", Instant{found->asked_us});
  call->reply(200, out);
}

void answer_device_sign_in(Context& context, CallPtr call) {
  bool approve = false;
  const Result<void> read =
      call->read_body([&](codec::JsonFields& fields) { fields.boolean("approve", approve); });
  if (!read.ok()) return call->fail(read.error());
  const std::string code = call->parameters[0];
  const DeviceSignIn* found = context.ways.devices.find(code);
  if (found == nullptr) return no_such_code(context, call);
  const auto done = [call] { call->responder->send(wire::Response{204, {}, ""}); };
  if (!approve) {
    context.ways.devices.answer(code, {});
    return done();
  }
  const Result<void> may = may_make(context, call->caller.is_root);
  if (!may.ok()) return call->fail(may.error());
  Key key;
  key.user = call->caller.user;
  key.name = found->name;
  key.scope = call->caller.scope;
  key.is_administrators = call->caller.is_root;
  key.expires_at = context.desk.now() + kKeyLasts;
  NewKey made = make_key(std::move(key), kKeyPrefix);
  const DeviceAnswer answer{true, made.secret, made.issued.key};
  const Call& asked = *call;
  context.desk.submit(asked, std::move(made.issued),
                      [&context, call, code, answer, done](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        if (context.ways.devices.answer(code, answer)) return done();
                        // Somebody else was quicker, or it is over: nobody is told this key.
                        context.desk.observe(KeyRevoked{answer.key.id});
                        no_such_code(context, call);
                      });
}

}  // namespace dove::server
