// StreamState: one orders stream between an agent and the controller, with both its ends.
//
// Shared by the ends and by what is under way between them. For the files of the network alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "sim/explore/network.h"
#include "wire/async_client.h"
#include "wire/server.h"

namespace dove::sim {

struct StreamState : std::enable_shared_from_this<StreamState> {
  StreamState(Network& of, Host& from, std::string name)
      : network(of), host(from), to(std::move(name)), server(of.find(to, from)) {}

  // The server's end.
  bool write(std::string_view bytes);
  void server_closes();
  void tell_server();  // the client's end is gone
  // The client's end; each may destroy it.
  void flush();
  void client_closed(const Error& error);
  void watch_silence();

  Network& network;
  Host& host;  // the client's
  const std::string to;
  Host& server;
  wire::StreamCallbacks callbacks;
  std::int64_t silence_us = 0;
  std::int64_t heard_us = 0;
  bool client_open = true;
  bool server_open = false;
  bool ending = false;  // the server's end has closed; the client hears it after the buffer
  bool flush_under_way = false;
  std::string buffer;
  std::function<void()> on_closed;  // the server's
  bool closed_told = false;
};

// The client's end; dropping it closes the connection.
std::unique_ptr<wire::InStream> client_end(std::shared_ptr<StreamState> stream);
// The one answer to the request that opened it.
std::shared_ptr<wire::Responder> stream_responder(std::shared_ptr<StreamState> stream);

}  // namespace dove::sim
