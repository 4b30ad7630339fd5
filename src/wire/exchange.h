// The two objects that the handler answers with, Exchange (a Responder) and StreamOut (an Outflow),
// and what they write to: a connection of HTTP/1.1, or one stream of HTTP/2. For these alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "wire/loop.h"
#include "wire/responder.h"

namespace dove::wire {

// Takes the one answer to a request.
class Answers {
 public:
  virtual ~Answers() = default;
  virtual bool open() const = 0;
  // REQUIRES of all that follow: open().
  virtual bool peer_ended() const = 0;
  virtual void answer(Response response) = 0;
  virtual std::shared_ptr<Outflow> begin_stream(int status, const Pairs& headers) = 0;
  virtual TakenOver hand_over() = 0;
  virtual void counts_at(std::shared_ptr<Backlog> backlog) = 0;
};

// Takes the bytes of a streamed answer.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual bool stream_write(std::string_view bytes) = 0;
  virtual void stream_end() = 0;
  virtual void stream_cut() = 0;
  virtual std::size_t unsent_bytes() const = 0;
};

class Exchange final : public Responder {
 public:
  Exchange(Loop& loop, std::weak_ptr<Answers> answers)
      : loop_(loop), answers_(std::move(answers)) {}
  ~Exchange() override;

  void send(Response response) override;
  std::shared_ptr<Outflow> stream(int status, Pairs headers) override;
  bool peer_alive() const override;
  void counts_at(std::shared_ptr<Backlog> backlog) override;
  TakenOver take_over() override;

 private:
  void deliver(Response response);

  Loop& loop_;
  std::weak_ptr<Answers> answers_;
  std::atomic<bool> answered_{false};
};

class StreamOut final : public Outflow, public std::enable_shared_from_this<StreamOut> {
 public:
  StreamOut(Loop& loop, std::weak_ptr<Outlet> outlet) : loop_(loop), outlet_(std::move(outlet)) {}
  ~StreamOut() override;

  bool write(std::string_view bytes) override;
  void close() override;
  void cut() override;
  void on_closed(std::function<void()> fn) override;
  std::size_t buffered_bytes() const override;

  // From below: the stream is over, and not by close() or cut().
  void ended();

 private:
  void announce(std::function<void()> fn);

  Loop& loop_;
  std::weak_ptr<Outlet> outlet_;
  std::function<void()> on_closed_;
  bool closed_ = false;
  bool ended_ = false;
};

}  // namespace dove::wire
