// Routes: every path of the API for people, in one table that api/openapi.yaml is checked against
// (with the calls of agents, which the backend answers).
//
// Include only from .cc files of this part.
#pragma once

#include <span>

#include "listener/route.h"
#include "server/context.h"

namespace dove::server {

using ApiRoute = listener::RouteOf<Context>;

std::span<const ApiRoute> api_routes();

}  // namespace dove::server
