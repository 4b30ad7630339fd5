#include "listener/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "listener/desk.h"
#include "wire/address.h"

namespace dove::listener {
namespace {

using accounts::Rule;
using accounts::Who;

constexpr std::size_t kBytesOfNobody = 64 << 10;

std::string_view next_part(std::string_view& path) {
  path.remove_prefix(1);
  const std::size_t end = path.find('/');
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(part.size());
  return part;
}

// The path with its parts still encoded: a name may hold a slash, "research%2Fvision".
std::string_view encoded_path(const wire::Request& request) {
  std::string_view target = request.target;
  if (target.find('%') == std::string_view::npos) return request.path;
  if (const std::size_t scheme = target.find("://"); !target.starts_with('/')) {
    target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
  }
  return target.substr(0, target.find_first_of("?#"));
}

std::string decoded(std::string_view part) {
  const auto text = wire::percent_decode(part, false);
  return text.ok() ? *text : std::string(part);  // the whole was decoded before
}

bool match(std::string_view pattern, std::string_view path, std::vector<std::string>& parameters) {
  parameters.clear();
  while (!pattern.empty() && !path.empty()) {
    if (path.front() != '/') return false;
    const std::string_view wanted = next_part(pattern);
    const std::string_view part = next_part(path);
    if (!wanted.empty() && wanted.front() == '{') {
      if (part.empty()) return false;
      parameters.push_back(decoded(part));
    } else if (wanted != part) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

Result<Caller> find_caller(const Desk& desk, const Rule& rule, const Call& call) {
  switch (rule.who) {
    case Who::kAnyone:
      return Caller{};
    case Who::kJoin: {
      TRY_ASSIGN(const std::string digest, Identity::token_digest(call.request));
      if (desk.state().join_tokens.contains(digest)) return Caller{};
      return join_token_invalid();
    }
    case Who::kAgent:
    case Who::kNode:
      return desk.identity.agent(call.request, desk.state(), call.parameters.front());
    case Who::kGateway:
      return desk.identity.gateway(call.request);
    case Who::kPerson:
    case Who::kVisitor:
    case Who::kUser:
    case Who::kAdmin:
      return desk.identity.person(call.request, desk.state(), desk.now());
  }
  return Caller{};
}

// The caller, if they may make this call. Whoever shows no token that is good has little of the
// server.
Result<Caller> allowed_caller(const Desk& desk, const Route& route, const Call& call) {
  const std::string_view host = host_of_peer(call.request.peer_address);
  Result<Caller> caller = find_caller(desk, *route.rule, call);
  if (caller.ok()) {
    const Result<void> allowed = may_call(*route.rule, *caller);
    if (allowed.ok()) return caller;
    desk.refusals->note(*caller, host, route.words.operation, allowed.error());
    return allowed.error();
  }
  desk.refusals->note({}, host, route.words.operation, caller.error());
  if (caller.error().kind != ErrorKind::kUnauthenticated) return caller;
  return desk.throttle->failed(host, caller.error(), desk.loop.monotonic_us());
}

// The caller's share of the server; agents, whose words nobody else can say, have it without limit.
Result<std::shared_ptr<void>> begin(const Desk& desk, const Rule& rule, const Caller& caller,
                                    const Call& call) {
  if (rule.who == Who::kAgent || rule.who == Who::kNode) {
    return std::shared_ptr<void>();
  }
  const std::string who =
      caller.user.empty() ? fmt::format("address {}", wire::network_of(call.request.peer_address))
                          : fmt::format("user {}", caller.user);
  TRY_ASSIGN(auto share,
             desk.throttle->begin(who, desk.loop.monotonic_us(), call.request.body.size()));
  call.responder->counts_at(desk.throttle->unread_of(who));
  return share;
}

// A stolen token is of no use without the node's certificate, and that takes the key which the
// token names (backends/native/node_keys.h).
Result<void> check_certificate(const Desk& desk, const Rule& rule, const Call& call) {
  if (rule.who != Who::kAgent || desk.options.nodes == nullptr) return {};
  const std::string wanted = desk.options.nodes->uri_of(call.parameters.front());
  if (call.request.peer_identity == wanted) return {};
  return Error{ErrorKind::kUnauthenticated, "wrong_certificate",
               fmt::format("this call is for {} alone, and the certificate is that of '{}'", wanted,
                           call.request.peer_identity),
               ""};
}

void refuse_path(const Call& call, const std::string& allowed) {
  if (allowed.empty()) {
    return call.fail(
        Error{ErrorKind::kNotFound, "no_such_path",
              fmt::format("there is nothing at {}; GET /openapi.yaml tells what there is",
                          call.request.path.substr(0, 200)),
              ""});
  }
  wire::Response response = wire::problem(
      405, Error{ErrorKind::kInvalid, "method_not_allowed",
                 fmt::format("{} is not for {}; it takes {}", call.request.path.substr(0, 200),
                             call.request.method.substr(0, 16), allowed),
                 ""});
  response.headers.emplace_back("Allow", allowed);
  call.responder->send(std::move(response));
}

// Query parameters that say yes or no; another word in them would be taken for a no.
std::optional<Error> check_flags(const Call& call) {
  for (const char* name : {"apart", "app", "audit", "create", "dry_run", "end", "follow",
                           "framework", "full", "removed"}) {
    const std::string* text = call.request.find_query(name);
    if (text == nullptr) continue;
    if (*text == "0" || *text == "1" || *text == "true" || *text == "false") continue;
    return invalid("bad_parameter", fmt::format("{} is 1 or 0, true or false", name), name);
  }
  return std::nullopt;
}

}  // namespace

void run_guarded(const CallPtr& call, const std::function<void(CallPtr)>& handle) {
  try {
    handle(call);
  } catch (const nlohmann::json::exception& e) {
    call->fail(invalid("bad_value", fmt::format("the body cannot be read: {}", e.what()), ""));
  }
}

void dispatch(const Desk& desk, std::span<const Route> routes, wire::Request request,
              std::shared_ptr<wire::Responder> responder) {
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->responder = std::move(responder);
  std::string allowed;
  const std::string_view path = encoded_path(call->request);
  for (const Route& route : routes) {
    if (!match(route.words.path, path, call->parameters)) continue;
    if (call->request.method != route.words.method) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(route.words.method);
      continue;
    }
    Result<Caller> caller = allowed_caller(desk, route, *call);
    if (!caller.ok()) return call->fail(caller.error());
    call->refused = [&desk, whose = call.get(), name = route.words.operation](const Error& why) {
      desk.refusals->note(whose->caller, host_of_peer(whose->request.peer_address), name, why);
    };
    Result<std::shared_ptr<void>> share = begin(desk, *route.rule, *caller, *call);
    if (!share.ok()) return call->fail(share.error());
    call->in_progress = std::move(share).value();
    if (const auto refused = check_flags(*call)) return call->fail(*refused);
    if (const auto shown = check_certificate(desk, *route.rule, *call); !shown.ok()) {
      return call->fail(shown.error());
    }
    call->caller = std::move(caller).value();
    call->values_max = route.words.values_max;
    if (route.rule->who == Who::kAnyone) {
      call->values_max = std::min(call->values_max, kValuesOfNobody);
    }
    return run_guarded(call, route.handle);
  }
  refuse_path(*call, allowed);
}

const Route* find_route(std::span<const Route> routes, const wire::Request& request) {
  const std::string_view path = encoded_path(request);
  std::vector<std::string> parameters;
  const auto found = std::ranges::find_if(routes, [&](const Route& route) {
    return request.method == route.words.method && match(route.words.path, path, parameters);
  });
  return found == routes.end() ? nullptr : &*found;
}

Result<std::size_t> admit(const Desk& desk, std::span<const Route> routes,
                          const wire::Request& head) {
  Call call;
  call.request.method = head.method;
  call.request.headers = head.headers;
  const std::string_view path = encoded_path(head);
  for (const Route& route : routes) {
    if (head.method != route.words.method || !match(route.words.path, path, call.parameters)) {
      continue;
    }
    call.request.peer_address = head.peer_address;
    call.request.peer_identity = head.peer_identity;
    const Result<Caller> caller = allowed_caller(desk, route, call);
    if (!caller.ok()) return caller.error();
    return route.words.body_bytes_max;
  }
  return kBytesOfNobody;
}

}  // namespace dove::listener
