#include "agent/session/report_queue.h"

#include <algorithm>
#include <utility>

namespace dove::agent {
namespace {

constexpr std::chrono::milliseconds kStartedWait{10};
constexpr std::int64_t kAgain_us = 500'000;

}  // namespace

void ReportQueue::add(protocol::Report report, When when) {
  reports_.push_back(std::move(report));
  switch (when) {
    case When::kThisTurn:
      return post_flush(0);
    case When::kNow:
      return flush();
    case When::kStarted:
      // Each message costs the controller a write, and short tasks come by the thousand. The wait
      // is not begun anew by the next start: the first of them would wait for the last.
      if (started_timer_.pending()) return;
      started_timer_ = loop_.after(kStartedWait, [this] { post_flush(0); });
      return;
    case When::kNextMessage:
      return;
  }
}

void ReportQueue::open() {
  is_open_ = true;
  under_way_ = false;
  in_flight_ = 0;
  number_ = 0;
}

// The reports of the message under way stay in front: the controller may or may not have recorded
// them, and hears a report twice without harm.
void ReportQueue::close() {
  is_open_ = false;
  under_way_ = false;
  in_flight_ = 0;
}

void ReportQueue::post_flush(std::int64_t wait_us) {
  if (flush_posted_) return;
  flush_posted_ = true;
  flush_timer_ = loop_.after(std::chrono::microseconds(wait_us), [this] {
    flush_posted_ = false;
    flush();
  });
}

// One message at a time: a second one under way could overtake the first on another try, and what
// gathers meanwhile makes the next one worth its write.
void ReportQueue::flush() {
  if (!is_open_ || under_way_) return;
  if (!reports_.empty() || host_.has_news()) send();
}

void ReportQueue::beat() {
  if (!sent_since_beat_ && !under_way_ && is_open_) send();
  sent_since_beat_ = false;
}

void ReportQueue::send() {
  in_flight_ = std::min(reports_.size(), kReportsAtATime);
  under_way_ = true;
  sent_since_beat_ = true;
  host_.send(++number_,
             {reports_.begin(), reports_.begin() + static_cast<std::ptrdiff_t>(in_flight_)});
}

void ReportQueue::taken() {
  under_way_ = false;
  reports_.erase(reports_.begin(), reports_.begin() + static_cast<std::ptrdiff_t>(in_flight_));
  in_flight_ = 0;
}

// Not at once: a full disk stays full for a while, and the answer came quickly.
void ReportQueue::full() {
  under_way_ = false;
  in_flight_ = 0;
  post_flush(kAgain_us);
}

}  // namespace dove::agent
