// The two ends that a Connection gives to the handler: Exchange (its Responder) and StreamOut (its
// Outflow). For connection.cc alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "wire/loop.h"
#include "wire/responder.h"

namespace dove::wire {

class Connection;

class Exchange final : public Responder {
 public:
  Exchange(Loop& loop, std::weak_ptr<Connection> connection)
      : loop_(loop), connection_(std::move(connection)) {}
  ~Exchange() override;

  void send(Response response) override;
  std::shared_ptr<Outflow> stream(int status, Pairs headers) override;
  bool peer_alive() const override;
  TakenOver take_over() override;

 private:
  void deliver(Response response);

  Loop& loop_;
  std::weak_ptr<Connection> connection_;
  std::atomic<bool> answered_{false};
};

class StreamOut final : public Outflow, public std::enable_shared_from_this<StreamOut> {
 public:
  StreamOut(Loop& loop, std::weak_ptr<Connection> connection)
      : loop_(loop), connection_(std::move(connection)) {}
  ~StreamOut() override;

  bool write(std::string_view bytes) override;
  void close() override;
  void on_closed(std::function<void()> fn) override;
  std::size_t buffered_bytes() const override;

  // From the Connection: the stream is over, and not by close().
  void ended();

 private:
  void announce(std::function<void()> fn);

  Loop& loop_;
  std::weak_ptr<Connection> connection_;
  std::function<void()> on_closed_;
  bool closed_ = false;
  bool ended_ = false;
};

}  // namespace dove::wire
