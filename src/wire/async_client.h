// AsyncClient speaks HTTP to one server from a Loop, without threads: the agent's way out.
//
// Calls wait in line for one keep-alive connection, made on demand; each stream has a connection of
// its own. Where HTTP/2 is spoken (AsyncClientOptions::http2), all of them share one, and none
// waits for another. A thousand of them fit in a process. Loop thread only. Callbacks come in a
// later turn than the call that they answer, may call anything here, and may destroy the client or
// stream.
//
// Errors: kUnavailable connection_refused (nobody listens), unreachable (no route),
// connection_broken (ended or reset before the whole answer), host_unknown · kTimeout timeout,
// connect_timeout · kTooLarge response_too_large, line_too_long · kInvalid malformed_response ·
// with TLS also those of connect_tls (tls/tls_stream.h). A call is repeated by the client only when
// its reused connection turned out dead before any byte of an answer, and then once; over HTTP/2
// also when the server says that it did not look at it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/address.h"
#include "wire/http.h"
#include "wire/incoming.h"
#include "wire/loop.h"

namespace dove::wire {

class ClientLine;

class AsyncClient {
 public:
  // The host may be a name: it is resolved in one helper thread of the process at each connect.
  AsyncClient(Loop& loop, Address to, AsyncClientOptions options = {});
  AsyncClient(Loop& loop, std::string host, std::uint16_t port, AsyncClientOptions options = {});
  // Open calls are dropped without callback.
  ~AsyncClient();
  AsyncClient(const AsyncClient&) = delete;
  AsyncClient& operator=(const AsyncClient&) = delete;

  // `done` is called once, with the answer of any status or an Error. `timeout` counts from now and
  // includes waiting in line and connecting. A call that times out takes its connection with it; a
  // shared one, which may hang, carries what is under way there, and no further call or stream.
  void call(Request request, std::function<void(Result<Response>)> done,
            std::chrono::microseconds timeout = std::chrono::seconds(30));

  // Streams outlive the client if their owner wants, and keep a shared connection open.
  [[nodiscard]] std::unique_ptr<InStream> open_stream(Request request, StreamCallbacks callbacks);

  // For calls that are waited for long: each goes over the connection of HTTP/2 that `other` gives
  // then (nullptr: none), if it stands and has room. Those that are short keep enough of it, and a
  // call that times out takes nothing with it. Where there is none, this client has its own.
  void borrow_from(std::function<const AsyncClient*()> other);

  // How long further connections, those of streams too, may take to stand.
  void connect_within(std::chrono::microseconds timeout);

  // Calls not yet answered.
  std::size_t pending() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::unique_ptr<ClientLine> line_;  // of the Loop's World, in place of connections
};

}  // namespace dove::wire
