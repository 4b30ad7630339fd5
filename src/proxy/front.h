// Front: one connection of a browser. Reads a request's head, asks the entrance, and passes the
// request on to the app and the answer back, as both come; then the next one.
//
// What is held of a body is bounded by the links' windows: whoever reads slowly is written to
// slowly. Loop thread only; kept alive by its owner until it is over, and by pending operations.
// Include only from .cc files of this part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/app_link.h"
#include "proxy/edge.h"
#include "proxy/entrance.h"
#include "proxy/http/head.h"
#include "proxy/input_watch.h"
#include "wire/stream.h"
#include "wire/streams/read_room.h"

namespace dove::proxy {

class Front final : public LinkUser, public std::enable_shared_from_this<Front> {
 public:
  // `over` is called once, from a later turn or from tick().
  Front(Edge& edge, std::unique_ptr<wire::Stream> stream, std::uint16_t port,
        std::function<void(const std::shared_ptr<Front>&)> over);
  ~Front() override;
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  void start() { read(); }
  // Ends what has waited too long. Called about once a second.
  void tick(std::int64_t now_us);
  void drop();

  void link_opened() override;
  void link_bytes(std::string_view bytes) override;
  void link_room() override;
  void link_closed(const Error& error) override;

 private:
  enum class Phase : std::uint8_t {
    kHead,     // between requests, or a part of a head has come
    kAsking,   // the server is asked, or a link is being opened
    kPassing,  // a request and its answer pass
    kTunnel,   // a WebSocket
    kClosing,  // what is queued leaves, and nothing more comes
    kClosed,
  };

  // -- the browser's side
  void read();
  void work();
  void take_head();
  void act_on(Verdict verdict);
  void trade(const Trade& trade);
  void send_up();
  void answer(const Page& page, const std::string& headers = "");
  void end_request(bool closes);
  void write(std::string_view bytes);
  void flush();
  void write_more();
  void close_when_written();

  // -- the app's side
  void open_link(bool may_reuse);
  void pass_request();
  void take_answer_head();
  void begin_answer(const Head& answer, Framing framing, bool switches);
  void pass_answer(std::string_view bytes);
  void pass_on(std::string_view bytes);
  void finish_answer(bool clean);
  void let_go_of_link(bool reusable);
  void explain(const Error& why);
  void explain_with(const SessionView& view, const Error& why);
  void link_failed(const Error& error);
  void saw_input();

  void wait_at_most(std::int64_t us);
  void rest() { deadline_us_ = 0; }

  Edge& edge_;
  std::unique_ptr<wire::Stream> stream_;
  const std::uint16_t port_;
  const std::function<void(const std::shared_ptr<Front>&)> over_;
  const std::string peer_;
  Phase phase_ = Phase::kHead;
  std::int64_t deadline_us_ = 0;        // 0: none
  std::int64_t write_deadline_us_ = 0;  // until something is taken; 0: nothing is under way

  // From the browser.
  wire::ReadRoom scratch_;
  std::string in_;
  std::size_t in_at_ = 0;
  std::size_t looked_ = 0;  // of in_, for the end of a head
  bool has_begun_ = false;  // a part of a head has come
  bool reading_ = false;

  // The request in progress.
  std::string head_bytes_;
  Head head_;  // views of head_bytes_
  BodyEnd up_;
  bool upgrades_ = false;
  bool as_page_ = false;
  bool closes_ = false;
  BrowserSessionPtr session_;
  InputWatch watch_;

  // Its link and its answer.
  std::unique_ptr<AppLink> link_;
  bool is_reused_ = false;
  bool sent_body_ = false;
  bool is_explained_ = false;
  std::string answer_;  // the head, as it comes
  int interim_ = 0;     // answers of 1xx before it
  bool has_answer_ = false;
  bool app_keeps_ = false;
  BodyEnd down_;

  // To the browser.
  std::string out_;
  std::size_t owed_ = 0;  // of out_: bytes that were not yet acknowledged to the link
  std::string sending_;
  std::size_t sending_owed_ = 0;
  std::size_t sent_ = 0;
  bool writing_ = false;
};

}  // namespace dove::proxy
