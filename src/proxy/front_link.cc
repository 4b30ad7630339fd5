// The app's side of a Front: its link, what goes to the app, and what becomes of the answer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proxy/front.h"
#include "proxy/http/filter.h"

namespace dove::proxy {
namespace {

constexpr std::size_t kAnswerHeadMax = 64 << 10;
constexpr int kInterimMax = 8;  // answers of 1xx to one request, which nothing holds back
constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kOpen_us = 40 * kSecond_us;
constexpr std::int64_t kAnswer_us = 300 * kSecond_us;  // to the head; what follows may take ever
constexpr std::int64_t kStarts_us = 120 * kSecond_us;  // from the job's start to the app's

// The app does not serve (yet), or its node cannot be asked now.
bool may_be_starting(const Error& error) {
  for (const char* code : {"nothing_listens", "no_such_socket", "busy", "forward_failed",
                           "not_running", "node_unreachable", "app_ended", "agent_lost"}) {
    if (error.code == code) return true;
  }
  return false;
}

bool lets_nobody_in(const Error& error) {
  return error.kind == ErrorKind::kUnauthenticated || error.kind == ErrorKind::kDenied ||
         error.code == "access_over";
}

}  // namespace

void Front::open_link(bool may_reuse) {
  phase_ = Phase::kAsking;
  auto& idle = session_->idle;
  while (may_reuse && !idle.empty()) {
    link_ = std::move(idle.back());
    idle.pop_back();
    session_->idle_least = std::min(session_->idle_least, idle.size());
    if (!link_->is_open() || link_->room() < kHeadBytesMax * 2) continue;
    is_reused_ = true;
    link_->use_for(this);
    return pass_request();
  }
  is_reused_ = false;
  wait_at_most(kOpen_us);
  link_ = std::make_unique<AppLink>(edge_.api.link(session_->entry.job, session_->entry.token),
                                    static_cast<LinkUser&>(*this));
}

void Front::link_opened() {
  if (phase_ == Phase::kAsking) pass_request();
}

void Front::pass_request() {
  phase_ = Phase::kPassing;
  wait_at_most(kAnswer_us);
  has_answer_ = false;
  sent_body_ = false;
  answer_.clear();
  interim_ = 0;
  const Passing passing{peer_, session_->entry.user, edge_.origins.secure(), upgrades_};
  link_->send(request_for_app(head_, passing));
  send_up();
}

void Front::link_room() {
  if (phase_ == Phase::kPassing || phase_ == Phase::kTunnel) work();
}

void Front::link_bytes(std::string_view bytes) {
  if (phase_ == Phase::kTunnel || (phase_ == Phase::kPassing && has_answer_)) {
    return pass_answer(bytes);
  }
  if (phase_ != Phase::kPassing) return;
  answer_ += bytes;
  link_->took(bytes.size());
  take_answer_head();
}

void Front::take_answer_head() {
  for (;;) {
    const std::size_t end = head_end(answer_);
    if (end == std::string::npos) {
      if (answer_.size() <= kAnswerHeadMax) return;
      return link_failed(Error{ErrorKind::kInvalid, "malformed_response",
                               "the head of its answer has no end", ""});
    }
    const std::string bytes = answer_.substr(0, end);
    const std::string rest = answer_.substr(end);
    const Result<Head> head = read_response_head(bytes);
    const auto framing = head.ok() ? framing_of_response(*head, head_.method == "HEAD")
                                   : Result<Framing>(head.error());
    if (!framing.ok()) return link_failed(framing.error());
    const bool switches = head->status == 101;
    if (switches && !upgrades_) {
      return link_failed(Error{ErrorKind::kInvalid, "malformed_response",
                               "it speaks another protocol than it was asked to", ""});
    }
    if (head->status < 200 && !switches) {  // "100 Continue", "103 Early Hints"
      if (++interim_ > kInterimMax) {
        return link_failed(Error{ErrorKind::kInvalid, "malformed_response",
                                 "it promises an answer again and again", ""});
      }
      write(answer_for_browser(*head, false, false));
      answer_ = rest;
      continue;
    }
    begin_answer(*head, *framing, switches);
    answer_.clear();
    answer_.shrink_to_fit();
    pass_on(rest);  // it was acknowledged with the head
    return;
  }
}

void Front::begin_answer(const Head& answer, Framing framing, bool switches) {
  has_answer_ = true;
  rest();
  down_ = BodyEnd(framing);
  app_keeps_ = !answer.is_1_0 && !answer.lists("Connection", "close");
  closes_ = closes_ || down_.ends_with_connection();
  write(answer_for_browser(answer, switches, closes_));
  if (!switches) return;
  phase_ = Phase::kTunnel;
  watch_ = InputWatch();
}

void Front::pass_answer(std::string_view bytes) {
  owed_ += bytes.size();
  pass_on(bytes);
}

void Front::pass_on(std::string_view bytes) {
  if (phase_ == Phase::kTunnel) {
    if (!bytes.empty()) write(bytes);
    return send_up();
  }
  const std::size_t taken = down_.feed(bytes);
  if (down_.broken()) return drop();
  if (taken > 0) write(bytes.substr(0, taken));
  // Behind the end of an answer nothing was asked for.
  if (down_.done()) finish_answer(taken == bytes.size());
}

void Front::finish_answer(bool clean) {
  if (phase_ != Phase::kPassing) return;
  let_go_of_link(clean && app_keeps_ && up_.done());
  end_request(closes_ || !up_.done());
}

void Front::let_go_of_link(bool reusable) {
  link_->took(std::exchange(owed_, 0) + std::exchange(sending_owed_, 0));
  const bool stays = reusable && link_->is_open() && !session_->over &&
                     session_->idle.size() < BrowserSessions::kIdleLinksMost;
  if (stays) {
    link_->use_for(nullptr);
    session_->idle.push_back(std::move(link_));
  }
  link_.reset();
}

void Front::link_closed(const Error& error) { link_failed(error); }

void Front::link_failed(const Error& error) {
  switch (phase_) {
    case Phase::kAsking:
      return explain(error);
    case Phase::kPassing: {
      const bool ends_so = has_answer_ && down_.ends_with_connection() && error.code == "app_ended";
      if (ends_so) return finish_answer(false);
      if (has_answer_) return drop();  // the browser must not take the half for the whole
      // The app may have closed an idle connection just when this request was sent on it.
      const bool reads = head_.method == "GET" || head_.method == "HEAD";
      if (is_reused_ && reads && up_.done() && !sent_body_) return open_link(false);
      return explain(error);
    }
    case Phase::kTunnel:
      return close_when_written();
    case Phase::kHead:
    case Phase::kClosing:
    case Phase::kClosed:
      return;
  }
}

// Says to the browser why there is no answer of the app.
void Front::explain(const Error& why) {
  link_.reset();
  phase_ = Phase::kAsking;
  if (session_ == nullptr) return answer(error_page(504, why));  // while a code was traded
  const std::uint64_t job = session_->entry.job;
  if (lets_nobody_in(why)) {
    edge_.sessions.drop(session_);
    return act_on(send_to_console(edge_, head_, job));
  }
  if (why.code == "too_many_connections") return answer(error_page(503, why));
  if (std::exchange(is_explained_, true)) return answer(error_page(504, why));
  wait_at_most(kOpen_us);
  edge_.api.look(job, session_->entry.token,
                 [weak = weak_from_this(), why](const Result<SessionView>& view) {
                   const auto self = weak.lock();
                   if (self == nullptr || self->phase_ != Phase::kAsking) return;
                   if (view.ok()) return self->explain_with(*view, why);
                   if (lets_nobody_in(view.error())) return self->explain(view.error());
                   Page page = error_page(502, view.error());
                   page.refresh_s = 5;
                   self->answer(page);
                 });
}

void Front::explain_with(const SessionView& view, const Error& why) {
  const bool has_ended = view.phase == "ended";
  if (!has_ended && view.runs_for_us < 0) return answer(waiting_page(view));
  if (!has_ended && may_be_starting(why) && view.runs_for_us < kStarts_us) {
    return answer(starting_page(view));
  }
  const auto say = [weak = weak_from_this(), view, why, has_ended](std::string lines) {
    const auto self = weak.lock();
    if (self == nullptr || self->phase_ != Phase::kAsking) return;
    self->answer(has_ended ? ended_page(view, std::move(lines))
                           : silent_page(view, why, std::move(lines)));
  };
  if (!view.may_read) return say("");
  edge_.api.last_lines(view.job, session_->entry.token, say);
}

}  // namespace dove::proxy
