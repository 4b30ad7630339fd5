// Routes: which call of the API or of the agents' protocol is answered by whom.
//
// Loop thread only. Include only from .cc files, and from headers that no other part reads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accounts/rules.h"
#include "listener/call.h"

namespace dove::listener {

class Desk;

inline constexpr std::size_t kMiB = 1 << 20;

struct RouteWords {
  const char* method;
  const char* path;       // "/v1/jobs/{id}"
  const char* operation;  // operationId; who may call it: api/authz.yaml
  std::size_t body_bytes_max = kMiB;
  std::size_t values_max = kValuesMax;  // of JSON in it; fewer of those who show no token
};

struct Route {
  RouteWords words;
  const accounts::Rule* rule;
  std::function<void(CallPtr)> handle;  // answers its call once, now or later
};

// A row of a constant table, whose handlers share a `Context`.
template <class Context>
struct RouteOf {
  RouteWords words;
  void (*handle)(Context& context, CallPtr call);
};

template <class Context>
std::vector<Route> bind_routes(Context& context, std::span<const RouteOf<Context>> table) {
  std::vector<Route> routes;
  for (const RouteOf<Context>& row : table) {
    routes.push_back(
        Route{row.words, &accounts::rule_of(row.words.operation),
              [&context, handle = row.handle](CallPtr call) { handle(context, std::move(call)); }});
  }
  return routes;
}

// Calls handle(call). A member of a wrong type that the handler did not look for is answered 400.
void run_guarded(const CallPtr& call, const std::function<void(CallPtr)>& handle);

// Finds the route and its parameters, checks the token and its scope, and calls the handler;
// answers 404 no_such_path, 405 method_not_allowed (with Allow), 401 or 403 otherwise, and 429
// rate_limited (with Retry-After) to whoever takes too much of the server (throttle.h).
void dispatch(const Desk& desk, std::span<const Route> routes, wire::Request request,
              std::shared_ptr<wire::Responder> responder);

// The one for the request's method and path; null: there is none.
const Route* find_route(std::span<const Route> routes, const wire::Request& request);

// Bytes that the body of a request may have, once its head has come. A body is taken only from a
// caller whose token allows the call; for calls that nobody answers it is small. Errors: as
// dispatch() answers.
Result<std::size_t> admit(const Desk& desk, std::span<const Route> routes,
                          const wire::Request& head);

}  // namespace dove::listener
