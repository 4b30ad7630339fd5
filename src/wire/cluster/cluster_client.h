// ClusterClient: an AsyncClient to the controller of a cluster that leads. It asks one thing at a
// time, as an AsyncClient does, and can open a WebSocket to the leader.
//
// A call moves on to the next controller where the rules of controllers.h say so, until its time is
// over or, while nobody leads, for kLeaderWait at most. A call that may be repeated waits for a
// controller that does not answer for half of its time. Several clients may share their
// Controllers, and so what one of them finds. Loop thread only; callbacks as AsyncClient's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/async_client.h"
#include "wire/cluster/controllers.h"
#include "wire/http.h"
#include "wire/loop.h"
#include "wire/web_socket/web_socket.h"

namespace dove::wire {

using ControllersPtr = std::shared_ptr<Controllers>;

class ClusterClient {
 public:
  ClusterClient(Loop& loop, ControllersPtr controllers, AsyncClientOptions options = {});
  // Open calls are dropped without callback.
  ~ClusterClient();
  ClusterClient(const ClusterClient&) = delete;
  ClusterClient& operator=(const ClusterClient&) = delete;

  // The target is without the prefix of a controller's URL.
  void call(Request request, std::function<void(Result<Response>)> done,
            std::chrono::microseconds timeout = std::chrono::seconds(30));

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// As connect_web_socket(), and that one ends with the last refusal.
[[nodiscard]] std::unique_ptr<WebSocket> connect_to_leader(Loop& loop, ControllersPtr controllers,
                                                           Request request,
                                                           WebSocketCallbacks callbacks);

}  // namespace dove::wire
