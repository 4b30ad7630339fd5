// Routes: every path of the API, in one table that api/openapi.yaml is held against.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/call.h"

namespace dove::server {

struct Context;

// Who may call. The handler finds out who it was in Call::caller.
enum class Access {
  kAnyone,
  kPerson,  // the administrator's, a user's or a running job's token
  kAdmin,
  kAgent,    // the token of the node that the path's first parameter names
  kHandler,  // the handler looks for itself
};

struct Route {
  const char* method;
  const char* path;       // "/v1/jobs/{id}"
  const char* operation;  // operationId
  Access access;
  void (*handle)(Context& context, CallPtr call);
};

std::span<const Route> routes();

// Finds the route and its parameters, checks the token, and calls the handler; answers 404
// no_such_path, 405 method_not_allowed (with Allow), 401 or 403 otherwise.
void dispatch(Context& context, wire::Request request, std::shared_ptr<wire::Responder> responder);

// Bytes that the body of a request may have.
std::size_t body_limit(std::string_view method, std::string_view path);

}  // namespace dove::server
