#include "listener/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "listener/desk.h"

namespace dove::listener {
namespace {

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

Result<Caller> find_caller(const Desk& desk, const RouteWords& route, const Call& call) {
  switch (route.access) {
    case Access::kAnyone:
      return Caller{};
    case Access::kJoin: {
      TRY_ASSIGN(const std::string digest, Identity::token_digest(call.request));
      if (desk.state().join_tokens.contains(digest)) return Caller{};
      return join_token_invalid();
    }
    case Access::kAgent:
      return desk.identity.agent(call.request, desk.state(), call.parameters.front());
    case Access::kPerson:
      return desk.identity.person(call.request, desk.state());
    case Access::kAdmin: {
      TRY_ASSIGN(Caller caller, desk.identity.person(call.request, desk.state()));
      if (caller.admin) return caller;
      return Error{ErrorKind::kDenied, "admin_only",
                   "only an administrator may do this; ask one, or use the administrator's token",
                   ""};
    }
  }
  return Caller{};
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
    Result<Caller> caller = find_caller(desk, route.words, *call);
    if (!caller.ok()) return call->fail(caller.error());
    call->caller = std::move(caller).value();
    return run_guarded(call, route.handle);
  }
  refuse_path(*call, allowed);
}

Result<std::size_t> admit(const Desk& desk, std::span<const Route> routes,
                          const wire::Request& head) {
  Call call;
  call.request.headers = head.headers;
  const std::string_view path = encoded_path(head);
  for (const Route& route : routes) {
    if (head.method != route.words.method || !match(route.words.path, path, call.parameters)) {
      continue;
    }
    TRY(find_caller(desk, route.words, call));
    return route.words.body_bytes_max;
  }
  return kBytesOfNobody;
}

}  // namespace dove::listener
