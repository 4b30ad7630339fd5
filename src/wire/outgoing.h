// What the clients of wire/ share: connections, the bytes of a request, and streams on connections
// of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "wire/address.h"
#include "wire/http.h"
#include "wire/loop.h"
#include "wire/tcp.h"

namespace dove::wire {

// The request as it goes on the wire. `keep_alive`: the connection is to stay open.
std::string request_bytes(const Request& request, const Address& to, bool keep_alive);

// Connects and, where the address has Tls, shakes hands; with `offers_http2` the server may choose
// that (Stream::speaks_http2). Each of the two may take `timeout`; but a host that shakes hands has
// 5 s at most to take the connection. `reach`: as AsyncClientOptions::reach_timeout. Errors:
// connect_tcp's and connect_tls's.
[[nodiscard]] ConnectAttempt connect_to(Loop& loop, const Address& to,
                                        std::chrono::microseconds timeout,
                                        std::function<void(Result<std::unique_ptr<Stream>>)> done,
                                        bool offers_http2 = false,
                                        std::chrono::microseconds reach = {});

class LineStream;

// Asks for a stream by a connection of its own, in HTTP/1.1.
void receive_alone(Loop& loop, const Address& to, const Request& request,
                   std::shared_ptr<LineStream> lines, std::chrono::microseconds connect_timeout);

}  // namespace dove::wire
