// Connection is one accepted connection of HTTP/1: reads requests, hands them on, writes answers.
//
// For server.cc alone; loop thread only. Kept alive by its server until closed, and by its pending
// operations. One request at a time; what arrives behind it waits unparsed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "wire/exchange.h"
#include "wire/request_parser.h"
#include "wire/server_state.h"
#include "wire/stream.h"
#include "wire/streams/backlog.h"

namespace dove::wire {

class Connection final : public Accepted,
                         public Answers,
                         public Outlet,
                         public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerState> server, std::unique_ptr<Stream> stream,
             std::string party);

  void start() override;
  void refuse(int status, const Error& error) override;
  void drop() override;
  void wind_down() override;
  const std::string& party() const override { return party_; }

  // From the Responder.
  void answer(Response response) override;
  std::shared_ptr<Outflow> begin_stream(int status, const Pairs& headers) override;
  TakenOver hand_over() override;
  void counts_at(std::shared_ptr<Backlog> backlog) override { waits_.enter(std::move(backlog)); }
  bool peer_ended() const override { return stream_->peer_ended(); }
  bool open() const override { return phase_ != Phase::kClosed && phase_ != Phase::kLingering; }

  // From the Outflow.
  bool stream_write(std::string_view bytes) override;
  void stream_end() override;
  void stream_cut() override;
  std::size_t unsent_bytes() const override { return out_.size() + sending_.size() - sent_; }

 private:
  enum class Phase {
    kIdle,       // between requests
    kHead,       // part of a head has come
    kBody,       // the head has come, its body has not
    kHandling,   // the handler owes an answer; nothing is read
    kAnswering,  // the answer is being written
    kStreaming,  // an Outflow is open, or its end is being written; a read watches the peer
    kLingering,  // all is written; waiting for the peer to end, so that it sees the answer
    kClosed,
  };

  void read();
  void on_read(int error, std::size_t bytes);
  void parse();
  void dispatch();
  void write_head(int status, const Pairs& headers, std::string_view framing);
  void flush();
  void await_peer();
  void write_more();
  void on_written(int error, std::size_t bytes);
  void on_all_written();
  void close_chunk();
  void linger();
  void set_deadline(std::chrono::microseconds from_now);
  void clear_deadline() { deadline_ = kNever; }
  void arm_timer();
  void on_deadline();

  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  std::shared_ptr<ServerState> server_;
  std::unique_ptr<Stream> stream_;
  const std::string party_;
  Phase phase_ = Phase::kIdle;
  RequestParser parser_;
  std::string scratch_;  // where the pending read puts bytes
  std::string held_;     // read, not yet parsed
  bool reading_ = false;
  std::size_t body_seen_ = 0;      // since the deadline was last moved
  std::size_t ignored_bytes_ = 0;  // read while nothing is wanted from the peer
  // The request in progress.
  std::int64_t began_us_ = 0;
  bool close_after_ = false;
  bool http_1_0_ = false;
  bool is_head_ = false;
  bool only_reads_ = false;
  // Bytes on their way: sending_ from sent_ on is with the system, out_ follows.
  std::string sending_;
  std::size_t sent_ = 0;
  std::string out_;
  bool writing_ = false;
  std::size_t taken_ = 0;  // by the system, since the deadline was last moved
  BacklogPart waits_;      // all of out_ and sending_
  // The stream in progress.
  std::weak_ptr<StreamOut> outflow_;
  bool chunked_ = false;
  bool chunk_open_ = false;
  bool flush_posted_ = false;
  bool finishing_ = false;
  std::size_t chunk_at_ = 0;
  // The timer fires at or before the deadline and is then set again: moving the deadline is free.
  Clock::time_point deadline_ = kNever;
  Clock::time_point armed_ = kNever;
  Timer timer_;
};

}  // namespace dove::wire
