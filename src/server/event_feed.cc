#include "server/event_feed.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/record.h"
#include "server/record_json.h"
#include "wire/sse.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPiece_records = 500;
constexpr std::size_t kWaiting_bytes = 1 << 20;
constexpr std::size_t kLookedAtMax = 20'000;  // records of one piece, matching or not

bool wants(const EventFilter& filter, JobId job, std::string_view kind) {
  if (filter.job.has_value() && job != *filter.job) return false;
  return filter.kinds.empty() || filter.kinds.count(std::string(kind)) != 0;
}

// Which job a JobSubmitted made, for batches that are no longer in the projection.
JobId submitted_job(const core::State& state, Seq seq) {
  for (const auto& [id, job] : state.jobs) {
    if (job.submitted_seq == seq) return id;
  }
  return JobId();
}

class Collector {
 public:
  Collector(const EventFilter& filter, const core::State& state, Seq after, std::size_t limit)
      : filter_(filter), state_(state), limit_(limit) {
    page_.looked_through = after;
  }

  // False once there is enough.
  bool add(const store::Batch& batch, const std::vector<JobId>* new_jobs) {
    Seq seq = batch.first_seq;
    for (std::size_t i = 0; i < batch.events.size(); ++i, ++seq.value) {
      if (seq <= page_.looked_through) continue;
      const StampedEvent& event = batch.events[i];
      JobId job = job_of(event.event);
      if (std::holds_alternative<JobSubmitted>(event.event)) {
        job = new_jobs != nullptr && i < new_jobs->size() ? (*new_jobs)[i]
                                                          : submitted_job(state_, seq);
      }
      if (!add({seq, batch.at, job}, event, codec::kind_name(event.event))) return false;
    }
    for (const Decision& decision : batch.decisions) {
      if (seq > page_.looked_through &&
          !add({seq, batch.at, job_of(decision)}, decision, codec::kind_name(decision))) {
        return false;
      }
      ++seq.value;
    }
    return looked_at_ < kLookedAtMax;
  }
  EventFeed::Page page() { return std::move(page_); }

 private:
  template <class Record>
  bool add(const RecordHead& head, const Record& record, std::string_view kind) {
    if (page_.records.size() >= limit_) return false;
    page_.looked_through = head.seq;
    ++looked_at_;
    if (wants(filter_, head.job, kind)) page_.records.push_back(record_json(head, record));
    return true;
  }

  const EventFilter& filter_;
  const core::State& state_;
  std::size_t limit_;
  std::size_t looked_at_ = 0;
  EventFeed::Page page_;
};

}  // namespace

struct EventFeed::Follower {
  std::shared_ptr<wire::Outflow> out;
  Seq sent_through;
  EventFilter filter;
  bool live = false;
  wire::Timer timer;
};

Result<EventFeed::Page> EventFeed::page(Seq after, const EventFilter& filter,
                                        std::size_t limit) const {
  Collector collector(filter, projection_.state(), after, limit);
  const auto& recent = projection_.recent();
  const bool from_recent =
      after >= projection_.state().head ||
      (!recent.empty() && recent.front().committed->batch.first_seq.value <= after.value + 1);
  if (!from_recent) {
    TRY(log_.read(after, [&](const store::Batch& batch) { return collector.add(batch, nullptr); }));
    return collector.page();
  }
  auto batch = std::partition_point(
      recent.begin(), recent.end(),
      [&](const listener::RecentBatch& each) { return each.committed->last() <= after; });
  for (; batch != recent.end(); ++batch) {
    if (!collector.add(batch->committed->batch, &batch->new_jobs)) break;
  }
  return collector.page();
}

void EventFeed::follow(std::shared_ptr<wire::Outflow> out, Seq after, EventFilter filter) {
  auto follower = std::make_shared<Follower>();
  follower->out = std::move(out);
  follower->sent_through = after;
  follower->filter = std::move(filter);
  followers_.push_back(follower);
  const std::weak_ptr<Follower> weak = follower;
  follower->out->on_closed([this, weak] { followers_.remove(weak.lock()); });
  follower->out->write(wire::format_sse_comment("events"));
  if (!keep_alive_timer_.pending()) keep_alive();
  catch_up(follower);
}

bool EventFeed::send(Follower& follower, const std::vector<Json>& records) {
  std::string text;
  for (const Json& record : records) {
    wire::SseEvent event;
    event.id = std::to_string(record.at("seq").get<std::uint64_t>());
    event.event = record.at("kind").get<std::string>();
    event.data = codec::dump_json(record);
    text += wire::format_sse(event);
  }
  return text.empty() || follower.out->write(text);
}

void EventFeed::catch_up(const std::shared_ptr<Follower>& follower) {
  const std::weak_ptr<Follower> weak = follower;
  const auto later = [this, weak](std::chrono::milliseconds wait) {
    if (const auto held = weak.lock()) {
      held->timer = loop_.after(wait, [this, weak] {
        if (const auto again = weak.lock()) catch_up(again);
      });
    }
  };
  if (follower->out->buffered_bytes() > kWaiting_bytes) return later(std::chrono::milliseconds(20));
  Result<Page> found = page(follower->sent_through, follower->filter, kPiece_records);
  if (!found.ok()) {
    follower->out->write(wire::format_sse(
        {"", "error",
         codec::dump_json(Json{{"code", found.error().code}, {"detail", found.error().message}})}));
    follower->out->close();
    followers_.remove(follower);
    return;
  }
  if (!send(*follower, found->records)) return;
  follower->sent_through = found->looked_through;
  follower->live = follower->sent_through >= projection_.state().head;
  if (!follower->live) later(std::chrono::milliseconds(0));
}

void EventFeed::published(const listener::RecentBatch& batch) {
  std::vector<std::shared_ptr<Follower>> over;
  for (const auto& follower : followers_) {
    if (!follower->live) continue;
    if (follower->out->buffered_bytes() > kWaiting_bytes) {
      over.push_back(follower);
      continue;
    }
    Collector collector(follower->filter, projection_.state(), follower->sent_through, SIZE_MAX);
    collector.add(batch.committed->batch, &batch.new_jobs);
    const Page page = collector.page();
    follower->sent_through = batch.committed->last();
    send(*follower, page.records);
  }
  for (const auto& follower : over) {
    follower->out->write(wire::format_sse(
        {"", "overflow",
         R"({"code":"overflow","detail":"read faster, or resume from the last id"})"}));
    follower->out->close();
    followers_.remove(follower);
  }
}

void EventFeed::keep_alive() {
  for (const auto& follower : followers_) {
    if (follower->live) follower->out->write(wire::format_sse_comment("alive"));
  }
  if (followers_.empty()) return;
  keep_alive_timer_ = loop_.after(std::chrono::seconds(15), [this] { keep_alive(); });
}

void EventFeed::close_all() {
  keep_alive_timer_.cancel();
  for (const auto& follower : followers_) follower->out->close();
  followers_.clear();
}

}  // namespace dove::server
