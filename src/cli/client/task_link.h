// TaskLink: how the commands reach into running tasks: the server's address, the caller, and the
// meaning of a broken or refused WebSocket.
//
// Include only from .cc files of this part.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/client/endpoint.h"
#include "protocol/link_words.h"
#include "wire/address.h"
#include "wire/http.h"
#include "wire/loop.h"
#include "wire/web_socket/web_socket.h"

namespace dove::cli {

class TaskLink {
 public:
  static Result<TaskLink> find(const Endpoint& endpoint);

  // A request to the server, with who asks; `target` begins with "/v1".
  wire::Request request(const std::string& target) const;
  std::unique_ptr<wire::WebSocket> open(wire::Loop& loop, const std::string& target,
                                        wire::WebSocketCallbacks callbacks) const;
  const wire::Address& address() const { return address_; }

 private:
  wire::Address address_;
  std::string prefix_;
  std::string token_;
};

// What the WebSocket's end means; `what` was ended by it: "command", "connection".
Error error_of_closed(const Error& closed, const std::string& what);
// What {"error": {...}} on it says.
Error error_of_word(const protocol::LinkError& error);

}  // namespace dove::cli
