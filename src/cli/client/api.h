// Api: the calls of /v1 as the commands make them. Answers are JSON; problem+json becomes an Error
// whose message says what to do.
//
// One thread. Include only from .cc files of this part: it brings nlohmann/json_fwd.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/client/endpoint.h"
#include "cli/command.h"
#include "wire/client.h"

namespace dove::cli {

class Api {
 public:
  static Result<Api> connect(const Invocation& invocation);
  explicit Api(Endpoint endpoint);

  Result<nlohmann::json> get(const std::string& target);
  // Sends `body` as JSON; a null one is sent as no body. An answer without a body is null.
  Result<nlohmann::json> send(const std::string& method, const std::string& target,
                              const nlohmann::json& body, const wire::Pairs& headers = {});
  // Sends bytes as they are.
  Result<nlohmann::json> send_bytes(const std::string& target, const std::string& bytes,
                                    const std::string& method = "POST");
  // The answer's body as it is.
  Result<std::string> raw(const std::string& target);
  // Lines of a streamed answer until `on_line` gives false or the server ends it.
  Result<void> stream(const std::string& method, const std::string& target, const std::string& body,
                      const wire::Pairs& headers,
                      const std::function<bool(std::string_view)>& on_line);
  // The same with its bytes as they come.
  Result<void> stream_bytes(const std::string& target,
                            const std::function<bool(std::string_view)>& on_bytes);

  const Endpoint& endpoint() const { return endpoint_; }

 private:
  wire::Pairs headers_with(const wire::Pairs& more) const;
  Error failed(const Error& transport) const;
  Result<void> streamed(const Result<void>& done) const;

  Endpoint endpoint_;
  wire::Client client_;
};

// "/v1/jobs/" + escaped id + rest.
std::string job_target(const std::string& job, const std::string& rest = "");
std::string node_target(const std::string& node, const std::string& rest = "");

// The error that a problem+json body describes; `status` when it is none.
Error error_of_problem(int status, std::string_view body);

}  // namespace dove::cli
