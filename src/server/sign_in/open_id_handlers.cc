// /v1/sign-in/{way} and its callback: a browser signs in at a sign-in service (src/openid).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "listener/session_cookie.h"
#include "openid/sign_in.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/sign_in/open_id_person.h"
#include "server/sign_in/session.h"
#include "text/html.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using IssuerPtr = std::shared_ptr<openid::Issuer>;

constexpr char kPagePolicy[] = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";

wire::Response page(int status, const std::string& head, const std::string& body) {
  return {
      status,
      {{"Content-Type", "text/html; charset=utf-8"},
       {"Content-Security-Policy", kPagePolicy},
       {"X-Content-Type-Options", "nosniff"},
       {"Referrer-Policy", "no-referrer"},
       {"Cache-Control", "no-store"}},
      fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width\"><title>Dovetail</title>"
                  "{}</head><body>{}</body></html>\n",
                  head, body)};
}

// A person reads this: as a page, in a browser.
void fail(const CallPtr& call, const Error& error) {
  if (call->request.header("Accept").find("text/html") == std::string_view::npos) {
    return call->fail(error);
  }
  if (call->refused) call->refused(error);
  call->responder->send(
      page(wire::status_of(error.kind), "",
           fmt::format("<h1>You are not signed in</h1><p>{}.</p><p>Code: <code>{}"
                       "</code></p><p><a href=\"/\">Back to the sign-in page</a>",
                       text::html_escaped(error.message), text::html_escaped(error.code))));
}

// As the browser names us.
std::string origin_of(const Context& context, const Call& call) {
  return fmt::format("{}://{}", context.desk.options.nodes == nullptr ? "http" : "https",
                     call.request.header("Host"));
}

IssuerPtr issuer_of(Context& context, const CallPtr& call) {
  for (const IssuerPtr& issuer : context.ways.issuers) {
    if (issuer->provider().name == call->parameters[0]) return issuer;
  }
  fail(call,
       Error{ErrorKind::kNotFound, "no_such_way",
             fmt::format("there is no sign-in service {} here; GET /v1/sign-in lists those that "
                         "there are",
                         call->parameters[0].substr(0, 64)),
             "way"});
  return nullptr;
}

// A page of ours leads on: along a redirect that began elsewhere a browser would not send the
// session's cookie (SameSite=Strict).
void go_on(const CallPtr& call, const std::string& then, const std::string& cookie) {
  const std::string where = text::html_escaped(then);
  wire::Response answer =
      page(200, fmt::format("<meta http-equiv=\"refresh\" content=\"0;url={}\">", where),
           fmt::format("<p>You are signed in. <a href=\"{}\">Go on</a>", where));
  answer.headers.emplace_back("Set-Cookie", cookie);
  answer.headers.emplace_back("Set-Cookie", listener::end_sign_in());
  call->responder->send(std::move(answer));
}

// The session of whom the claims speak.
void let_in(Context& context, const CallPtr& call, const openid::Provider& provider,
            const openid::SignIn& asked, const Json& claims) {
  const auto person =
      open_id_person(context.state(), context.desk.controller.policies(), provider, claims);
  if (!person.ok()) return fail(call, person.error());
  let_person_in(context, call, provider.name, *person, [&context, call, asked] {
    open_session(context, call, call->caller, [call, asked](const Key&, const std::string& cookie) {
      go_on(call, asked.then, cookie);
    });
  });
}

// What the browser brings back from the issuer, if it is the answer to what it was sent for.
Result<openid::SignIn> brought_back(const Context& context, const Call& call,
                                    const openid::Provider& provider) {
  TRY_ASSIGN(openid::SignIn asked,
             openid::unseal(listener::sign_in_of(call.request).value_or(""),
                            context.desk.identity.seal_key("sign-in"), provider.name,
                            call.query_text("state"), context.desk.now().us));
  // Another issuer's answer must not pass for this one's (RFC 9207).
  if (const std::string* from = call.request.find_query("iss");
      from != nullptr && *from != provider.issuer) {
    return Error{ErrorKind::kUnauthenticated, "sign_in_other",
                 "this is the answer of another sign-in service; begin again", "iss"};
  }
  if (const std::string why = call.query_text("error"); !why.empty()) {
    return Error{ErrorKind::kUnauthenticated, "issuer_refused",
                 fmt::format("{} did not sign you in: {}", provider.title, why.substr(0, 100)),
                 "error"};
  }
  if (call.query_text("code").empty()) {
    return Error{ErrorKind::kUnauthenticated, "no_code",
                 fmt::format("{} sent no code; begin again", provider.title), "code"};
  }
  return asked;
}

}  // namespace

void begin_open_id(Context& context, CallPtr call) {
  const IssuerPtr issuer = issuer_of(context, call);
  if (issuer == nullptr) return;
  const std::string then = call->query_text("then");
  const auto begun = openid::begin_sign_in(issuer->provider(), then.empty() ? "/" : then,
                                           origin_of(context, *call), context.desk.now().us);
  if (!begun.ok()) return fail(call, begun.error());
  const std::string cookie =
      listener::set_sign_in(openid::seal(*begun, context.desk.identity.seal_key("sign-in")));
  const auto queued =
      context.ways.at_issuers.at(issuer->provider().name)
          .call([issuer] { return issuer->authorization_endpoint(); },
                [call, issuer, cookie, begun = *begun](const Result<std::string>& endpoint) {
                  if (!endpoint.ok()) {
                    note_unanswered(*call, endpoint.error());
                    return fail(call, endpoint.error());
                  }
                  const std::string url =
                      openid::authorization_url(*endpoint, issuer->provider(), begun);
                  call->responder->send(wire::Response{302,
                                                       {{"Location", url},
                                                        {"Set-Cookie", cookie},
                                                        {"Cache-Control", "no-store"},
                                                        {"Referrer-Policy", "no-referrer"}},
                                                       ""});
                });
  if (!queued.ok()) fail(call, queued.error());
}

void end_open_id(Context& context, CallPtr call) {
  const IssuerPtr issuer = issuer_of(context, call);
  if (issuer == nullptr) return;
  const auto asked = brought_back(context, *call, issuer->provider());
  if (!asked.ok()) {
    const std::string_view host = listener::host_of_peer(call->request.peer_address);
    return fail(
        call, context.desk.throttle->failed(host, asked.error(), context.desk.loop.monotonic_us()));
  }
  const std::string code = call->query_text("code");
  const std::int64_t now_s = context.desk.now().us / 1'000'000;
  const auto queued =
      context.ways.at_issuers.at(issuer->provider().name)
          .call(
              [issuer, code, asked = *asked, now_s] { return issuer->redeem(code, asked, now_s); },
              [&context, call, issuer, asked = *asked](const Result<Json>& claims) {
                if (!claims.ok()) {
                  note_unanswered(*call, claims.error());
                  return fail(call, claims.error());
                }
                // Two first sign-ins at once must not both make the user, or undo each other's
                // groups.
                context.declaring.wait(
                    [&context, call, issuer, asked, claims = *claims](Turns::Turn turn) {
                      call->turn = std::move(turn);
                      let_in(context, call, issuer->provider(), asked, claims);
                    });
              });
  if (!queued.ok()) fail(call, queued.error());
}

}  // namespace dove::server
