// Call: one request being answered, and the few ways to answer it.
//
// Loop thread only. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "listener/identity.h"
#include "model/event.h"
#include "wire/server.h"

namespace dove::codec {
class JsonFields;
}

namespace dove::listener {

// JSON values that a body may have. The largest that people send are the indices of an array job;
// whoever has shown no token sends a few words.
inline constexpr std::size_t kValuesMax = 200'000;
inline constexpr std::size_t kValuesOfNobody = 1'000;

struct Call {
  wire::Request request;
  std::shared_ptr<wire::Responder> responder;
  std::vector<std::string> parameters;  // of the path, in order: /v1/jobs/{id} has one
  Caller caller;                        // as the route's access asks for
  std::shared_ptr<void> in_progress;    // of the caller's share of the server (throttle.h)
  std::shared_ptr<void> turn;           // kept until the call is answered (server/turns.h)
  std::function<void(const Error&)> refused =
      {};                               // called with each error that it is answered with
  std::size_t values_max = kValuesMax;  // of its body

  void reply(int status, const nlohmann::json& body, wire::Pairs headers = {}) const;
  void fail(const Error& error) const;
  // Agents repeat what they could not deliver: to them a full disk is a passing trouble (503).
  void fail_agent(const Error& error) const;
  // The body as a JSON object; an empty body is an empty object.
  Result<nlohmann::json> json_body() const;
  // The same, read field by field (codec/json_fields.h): a field that `read` does not ask for is an
  // error.
  Result<void> read_body(const std::function<void(codec::JsonFields&)>& read) const;
  // A whole number in a query parameter, within bounds; `otherwise` when it is not there.
  Result<std::int64_t> query_number(const char* name, std::int64_t otherwise, std::int64_t least,
                                    std::int64_t most) const;
  std::string query_text(const char* name) const;
  bool query_flag(const char* name) const;  // "1" or "true"
  // Who asks, for the log.
  Cause cause() const;
};

using CallPtr = std::shared_ptr<Call>;

Error not_found(const char* what, std::string_view name);
Error invalid(std::string code, std::string message, std::string field);

}  // namespace dove::listener
