// AppLink: one connection of bytes to the app of a job, through the server and the agent (GET
// /v1/jobs/{id}/forward; api/agent-protocol.md, Forwards). It carries one request after the other.
//
// No more is taken than the other end has room for, in both directions. Loop thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "wire/web_socket/piece.h"
#include "wire/web_socket/web_socket.h"

namespace dove::proxy {

// Whoever uses the link now. May drop it in any of these.
class LinkUser {
 public:
  virtual ~LinkUser() = default;
  virtual void link_opened() = 0;
  virtual void link_bytes(std::string_view bytes) = 0;  // to be acknowledged with took()
  virtual void link_room() = 0;                         // there is room again
  // The app sends no more, or the link is over: with the code of the server or the agent. Once.
  virtual void link_closed(const Error& error) = 0;
};

class AppLink {
 public:
  using Open = std::function<std::unique_ptr<wire::WebSocket>(wire::WebSocketCallbacks)>;
  AppLink(const Open& open, LinkUser& user);

  // nullptr: nobody; what comes then breaks it.
  void use_for(LinkUser* user) { user_ = user; }
  bool is_open() const { return open_ && !over_; }
  std::size_t room() const { return is_open() ? sent_.left() : 0; }
  // REQUIRES: at most room().
  void send(std::string_view bytes);
  // That many bytes of what came were passed on.
  void took(std::size_t bytes);

 private:
  void hear(std::string_view text);
  void hear_piece(std::string_view message);
  void end(const Error& error);

  LinkUser* user_;
  bool open_ = false;
  bool over_ = false;
  wire::Window sent_;
  wire::Window received_;
  wire::Passed passed_;
  std::unique_ptr<wire::WebSocket> socket_;
};

// What a problem that the server answered with says; `closed` is of a WebSocket.
Error error_of_answer(const Error& closed);
Error error_of_problem(int status, const std::string& body);

}  // namespace dove::proxy
