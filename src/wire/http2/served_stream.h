// ServedStream is one request of an Http2Connection and its answer.
//
// For http2_connection.cc alone; loop thread only. Owned by its connection until either end closes
// it; the objects that the handler holds then have no effect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wire/exchange.h"
#include "wire/http2/http2_connection.h"
#include "wire/streams/backlog.h"

namespace dove::wire {

class ServedStream final : public Answers,
                           public Outlet,
                           public std::enable_shared_from_this<ServedStream> {
 public:
  using Clock = Http2Connection::Clock;

  // The connection outlives it, or calls lost().
  ServedStream(Http2Connection& connection, std::int32_t id);

  // The request, as it comes.
  // False: the head is far longer than the limit.
  bool on_field(std::string_view name, std::string_view value);
  void on_head(bool ends);
  void on_body(std::string_view bytes);
  void on_request_end();
  // Its turn has come, if it has a body to receive.
  bool receives() const { return phase_ == Phase::kBody; }
  void take_turn();

  // All of its answer has left.
  void on_answered();
  // The next bytes of its answer, as a library's callback gives them.
  ssize_t give(std::uint8_t* to, std::size_t size, std::uint32_t* flags);
  Clock::time_point deadline() const { return deadline_; }
  void on_deadline();
  // The server is shutting down.
  void wind_down();
  // The stream is closed, or the connection.
  void lost();

  // From the Responder.
  bool open() const override { return connection_ != nullptr; }
  bool peer_ended() const override;
  void answer(Response response) override;
  std::shared_ptr<Outflow> begin_stream(int status, const Pairs& headers) override;
  TakenOver hand_over() override;
  void counts_at(std::shared_ptr<Backlog> backlog) override { waits_.enter(std::move(backlog)); }

  // From the Outflow.
  bool stream_write(std::string_view bytes) override;
  void stream_end() override;
  void stream_cut() override;
  std::size_t unsent_bytes() const override { return out_.size() - sent_; }

 private:
  enum class Phase {
    kHead,
    kBody,
    kHandling,   // the handler owes an answer
    kAnswering,  // all of the answer is known
    kStreaming,  // an Outflow is open
  };

  void refuse(int status, const Error& error);
  void dispatch();
  void submit(int status, const Pairs& headers, bool has_body);
  void resume();
  void await_peer();

  Http2Connection* connection_;  // nullptr: lost
  const std::int32_t id_;
  Phase phase_ = Phase::kHead;
  Request request_;
  std::string authority_;
  std::size_t head_bytes_ = 0;
  std::size_t body_bytes_max_ = 0;
  std::size_t body_step_bytes_ = 0;  // since the deadline was last moved
  std::size_t withheld_bytes_ = 0;   // came before its turn: the window stays shut behind them
  bool has_turn_ = false;
  bool came_whole_ = false;
  bool is_head_ = false;
  bool only_reads_ = false;
  std::int64_t began_us_ = 0;
  // The answer.
  std::string out_;
  std::size_t sent_ = 0;
  std::size_t taken_ = 0;   // by the connection, since the deadline was last moved
  BacklogPart waits_;       // all of out_
  bool answered_ = false;   // all has left
  bool finishing_ = false;  // nothing follows what is in out_
  bool deferred_ = false;   // the library waits for resume()
  std::weak_ptr<StreamOut> outflow_;
  Clock::time_point deadline_;
};

}  // namespace dove::wire
