#include "proxy/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proxy/http/filter.h"

namespace dove::proxy {
namespace {

constexpr std::size_t kReadLeast = 1 << 10;
constexpr std::size_t kReadMost = 64 << 10;
constexpr std::size_t kInMax = 128 << 10;   // of a browser, not yet passed on
constexpr std::size_t kOutMax = 256 << 10;  // to one: the next request waits until less is left
constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kFirstHead_us = 10 * kSecond_us;
constexpr std::int64_t kIdle_us = 120 * kSecond_us;
constexpr std::int64_t kAsk_us = 40 * kSecond_us;
constexpr std::int64_t kClose_us = 5 * kSecond_us;
constexpr std::int64_t kWrite_us = 60 * kSecond_us;

std::string host_of(const std::string& peer) {
  std::string host = peer.substr(0, peer.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

Front::Front(Edge& edge, std::unique_ptr<wire::Stream> stream, std::uint16_t port,
             std::function<void(const std::shared_ptr<Front>&)> over)
    : edge_(edge),
      stream_(std::move(stream)),
      port_(port),
      over_(std::move(over)),
      peer_(host_of(stream_->peer_address())),
      scratch_(kReadLeast, kReadLeast, kReadMost) {
  wait_at_most(kFirstHead_us);
}

Front::~Front() = default;

void Front::wait_at_most(std::int64_t us) { deadline_us_ = edge_.loop.monotonic_us() + us; }

void Front::tick(std::int64_t now_us) {
  const bool stalled = write_deadline_us_ != 0 && now_us >= write_deadline_us_;
  if (stalled) return drop();
  if (deadline_us_ == 0 || now_us < deadline_us_) return;
  if (phase_ == Phase::kAsking || (phase_ == Phase::kPassing && !has_answer_)) {
    rest();
    return link_failed(Error{ErrorKind::kTimeout, "timeout", "it has not answered in time", ""});
  }
  drop();
}

void Front::drop() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  if (link_ != nullptr) link_->use_for(nullptr);
  // What holds it may be on the stack.
  edge_.loop.post([self = shared_from_this()] { self->link_.reset(); });
  stream_->close();
  over_(shared_from_this());
}

void Front::read() {
  if (reading_ || phase_ == Phase::kClosed || in_.size() - in_at_ >= kInMax) return;
  reading_ = true;
  stream_->read_some(scratch_.data(), scratch_.size(),
                     [self = shared_from_this()](int error, std::size_t bytes) {
                       self->reading_ = false;
                       if (self->phase_ == Phase::kClosed) return;
                       if (error != 0) return self->drop();
                       self->in_.append(self->scratch_.data(), bytes);
                       self->scratch_.came(bytes);
                       self->work();
                     });
}

void Front::work() {
  switch (phase_) {
    case Phase::kHead:
      take_head();
      break;
    case Phase::kPassing:
    case Phase::kTunnel:
      send_up();
      break;
    case Phase::kClosing:  // what still comes is of no use
      in_.clear();
      in_at_ = 0;
      break;
    case Phase::kAsking:
    case Phase::kClosed:
      break;
  }
  if (in_at_ == in_.size()) {
    in_.clear();
    in_at_ = 0;
  } else if (in_at_ > kReadMost) {
    in_.erase(0, std::exchange(in_at_, 0));
  }
  read();
}

void Front::take_head() {
  if (out_.size() + sending_.size() > kOutMax) return;  // it reads slowly what it asked for before
  const std::string_view bytes = std::string_view(in_).substr(in_at_);
  if (bytes.empty()) return;
  const std::size_t end = head_end(bytes, looked_);
  looked_ = bytes.size();
  closes_ = false;
  if (end == std::string_view::npos || end > kHeadBytesMax) {
    if (bytes.size() <= kHeadBytesMax) {
      if (!std::exchange(has_begun_, true)) wait_at_most(kFirstHead_us);
      return;
    }
    head_ = Head{};
    closes_ = true;
    return answer(error_page(431, Error{ErrorKind::kTooLarge, "headers_too_large",
                                        "the head of a request has at most 32 KiB", ""}));
  }
  looked_ = 0;
  has_begun_ = false;
  is_explained_ = false;
  head_bytes_.assign(bytes.substr(0, end));
  in_at_ += end;
  rest();
  Result<Head> head = read_request_head(head_bytes_);
  Result<Framing> framing = head.ok() ? framing_of_request(*head) : Result<Framing>(head.error());
  if (!framing.ok()) {
    head_ = Head{};
    closes_ = true;
    const int status = framing.error().code == "http_version" ? 505 : 400;
    return answer(error_page(status, framing.error()));
  }
  head_ = std::move(head).value();
  up_ = BodyEnd(*framing);
  upgrades_ = wants_web_socket(head_);
  as_page_ = wants_page(head_);
  closes_ = head_.lists("Connection", "close");
  act_on(judge(edge_, head_, port_));
}

void Front::act_on(Verdict verdict) {
  if (verdict.page) return answer(*verdict.page, verdict.headers);
  if (verdict.trade) return trade(*verdict.trade);
  session_ = std::move(verdict.session);
  saw_input();
  open_link(true);
}

// Not what pages ask for by themselves: their own calls read, as a rule, and often.
void Front::saw_input() {
  const bool changes = head_.method != "GET" && head_.method != "HEAD" && head_.method != "OPTIONS";
  const bool followed = head_.find("Sec-Fetch-Mode") == "navigate";
  if (!changes && !followed) return;
  BrowserSessions::saw_input(*session_, edge_.api, edge_.loop.monotonic_us());
}

void Front::trade(const Trade& trade) {
  phase_ = Phase::kAsking;
  wait_at_most(kAsk_us);
  edge_.api.trade(
      trade.code, trade.nonce, trade.origin, [weak = weak_from_this(), trade](Result<Entry> entry) {
        const auto self = weak.lock();
        if (self == nullptr || self->phase_ != Phase::kAsking) return;
        if (entry.ok()) {
          const Verdict verdict = let_in(self->edge_, trade, std::move(entry).value(), self->port_);
          return self->answer(*verdict.page, verdict.headers);
        }
        Page page = error_page(entry.error().kind == ErrorKind::kUnauthenticated ? 403 : 502,
                               entry.error());
        page.link = fmt::format("/.dove/open/{}", trade.job);
        page.link_text = "Try again";
        self->answer(page);
      });
}

// The body of the request, or what comes on the WebSocket, as far as the app has room.
void Front::send_up() {
  if (link_ == nullptr || (phase_ != Phase::kPassing && phase_ != Phase::kTunnel)) return;
  while (in_at_ < in_.size()) {
    std::string_view bytes = std::string_view(in_).substr(in_at_, link_->room());
    if (bytes.empty()) return;
    if (phase_ == Phase::kTunnel) {
      if (watch_.feed(bytes) && !session_->entry.app_tells) {
        BrowserSessions::saw_input(*session_, edge_.api, edge_.loop.monotonic_us());
      }
    } else {
      if (up_.done()) return;  // the next request
      bytes = bytes.substr(0, up_.feed(bytes));
      if (up_.broken()) return drop();
      sent_body_ = true;
    }
    in_at_ += bytes.size();
    link_->send(bytes);
  }
}

void Front::answer(const Page& page, const std::string& headers) {
  closes_ = closes_ || !up_.done();
  const bool is_head = head_.method == "HEAD";
  std::string bytes = answer_bytes(page, as_page_, headers, closes_);
  if (is_head) bytes.resize(head_end(bytes));
  write(bytes);
  end_request(closes_);
}

void Front::end_request(bool closes) {
  session_.reset();
  has_answer_ = false;
  upgrades_ = false;
  if (closes) return close_when_written();
  phase_ = Phase::kHead;
  wait_at_most(kIdle_us);
  edge_.loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->work();
  });
}

void Front::write(std::string_view bytes) {
  out_ += bytes;
  flush();
}

void Front::flush() {
  if (writing_ || phase_ == Phase::kClosed) return;
  if (out_.empty()) {
    if (phase_ == Phase::kClosing) {
      stream_->end_writing();
      wait_at_most(kClose_us);
    }
    return;
  }
  std::swap(sending_, out_);
  out_.clear();
  sending_owed_ = std::exchange(owed_, 0);
  sent_ = 0;
  writing_ = true;
  write_more();
}

void Front::write_more() {
  write_deadline_us_ = edge_.loop.monotonic_us() + kWrite_us;
  stream_->write_some(std::string_view(sending_).substr(sent_),
                      [self = shared_from_this()](int error, std::size_t bytes) {
                        if (self->phase_ == Phase::kClosed) return;
                        if (error != 0) return self->drop();
                        self->sent_ += bytes;
                        if (self->sent_ < self->sending_.size()) return self->write_more();
                        self->writing_ = false;
                        self->write_deadline_us_ = 0;
                        self->sending_.clear();
                        if (self->sending_.capacity() > kReadMost) self->sending_.shrink_to_fit();
                        const std::size_t owed = std::exchange(self->sending_owed_, 0);
                        if (self->link_ != nullptr) self->link_->took(owed);
                        self->flush();
                        if (self->phase_ == Phase::kHead) self->work();
                      });
}

void Front::close_when_written() {
  phase_ = Phase::kClosing;
  rest();
  flush();
}

}  // namespace dove::proxy
