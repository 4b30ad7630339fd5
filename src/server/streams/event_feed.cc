#include "server/streams/event_feed.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <variant>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/record.h"
#include "server/job_select.h"
#include "server/record_json.h"
#include "server/streams/log_search.h"
#include "telemetry/clock.h"
#include "wire/sse.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPiece_records = 500;
constexpr std::size_t kWaiting_bytes = 1 << 20;   // and one record
constexpr std::uint64_t kWindow_records = 2'000;  // of a piece that is read backwards
constexpr std::size_t kLookedAtMax = 20'000;      // records of one piece, matching or not
constexpr std::size_t kTurnsMax = 1'000;          // users whose turns are remembered

Error reader_gone() {
  return {ErrorKind::kUnavailable, "reader_gone", "whoever asked is gone", ""};
}

// What people did, and what was refused to them: not what agents report, nor the passing of time.
bool is_audited(const StampedEvent* event) {
  if (event == nullptr) return false;
  if (std::holds_alternative<CallsRefused>(event->event)) return true;
  const std::string& who = event->cause.principal;
  return !who.empty() && who != "controller" && !who.starts_with("agent:");
}

const StampedEvent* event_of(const StampedEvent& event) { return &event; }
const StampedEvent* event_of(const Decision&) { return nullptr; }

bool is_of(const std::string& user, const StampedEvent* event) {
  if (event == nullptr) return false;
  if (const auto* refused = std::get_if<CallsRefused>(&event->event)) return refused->who == user;
  return event->cause.principal == user;
}

std::string_view kind_of(const StampedEvent& event) { return codec::kind_name(event.event); }
std::string_view kind_of(const Decision& decision) { return codec::kind_name(decision); }

template <class Record>
bool wants(const core::State& state, const EventFilter& filter, const listener::Caller& caller,
           const RecordHead& head, const Record& record) {
  if (filter.job.has_value() && head.job != *filter.job) return false;
  if (head.at < filter.from.value_or(head.at) || head.at >= filter.before) return false;
  if (filter.audit && !is_audited(event_of(record))) return false;
  if (!filter.user.empty() && !is_of(filter.user, event_of(record))) return false;
  if (!filter.kinds.empty() && filter.kinds.count(std::string(kind_of(record))) == 0) return false;
  return accounts::may_see_record(state, caller, head.job, event_of(record));
}

// Calls `fn(head, record)` for each record of `batch` after `after` until it gives false, which is
// then the result. `new_jobs`: the jobs that its events made, in their order; nullptr: looked up.
template <class Fn>
bool each_record(const store::Batch& batch, const std::vector<JobId>* new_jobs,
                 const core::State& state, Seq after, const Fn& fn) {
  Seq seq = batch.first_seq;
  for (std::size_t i = 0; i < batch.events.size(); ++i, ++seq.value) {
    if (seq <= after) continue;
    const StampedEvent& event = batch.events[i];
    JobId job = job_of(event.event);
    if (std::holds_alternative<JobSubmitted>(event.event)) {
      job = new_jobs != nullptr && i < new_jobs->size() ? (*new_jobs)[i]
                                                        : job_submitted_at(state, seq);
    }
    if (!fn(RecordHead{seq, batch.at, job}, event)) return false;
  }
  for (const Decision& decision : batch.decisions) {
    if (seq > after && !fn(RecordHead{seq, batch.at, job_of(decision)}, decision)) return false;
    ++seq.value;
  }
  return true;
}

std::string sse_text(const Json& record) {
  wire::SseEvent event;
  event.id = std::to_string(record.at("seq").get<std::uint64_t>());
  event.event = record.at("kind").get<std::string>();
  event.data = codec::dump_json(record);
  return wire::format_sse(event);
}

// A batch on its way to many: each record is encoded for the first who wants it, and for no other.
class Broadcast {
 public:
  Broadcast(const listener::RecentBatch& batch, const core::State& state) : state_(state) {
    each_record(batch.committed->batch, &batch.new_jobs, state, Seq(),
                [this](const RecordHead& head, const auto& record) {
                  if (head.job) by_job_[head.job].push_back(lines_.size());
                  lines_.push_back({head, &record, ""});
                  return true;
                });
  }

  // Those after `after`, as server-sent events.
  std::string text_for(const EventFilter& filter, const listener::Caller& caller, Seq after) {
    std::string text;
    const auto add = [&](Line& line) {
      if (line.head.seq <= after) return;
      std::visit(
          [&](const auto* record) {
            if (!wants(state_, filter, caller, line.head, *record)) return;
            if (line.text.empty()) line.text = sse_text(record_json(line.head, *record));
            text += line.text;
          },
          line.record);
    };
    if (!filter.job.has_value()) {
      for (Line& line : lines_) add(line);
    } else if (const auto own = by_job_.find(*filter.job); own != by_job_.end()) {
      for (const std::size_t at : own->second) add(lines_[at]);
    }
    return text;
  }

 private:
  struct Line {
    RecordHead head;
    std::variant<const StampedEvent*, const Decision*> record;
    std::string text;  // "": nobody has wanted it yet
  };

  const core::State& state_;
  std::vector<Line> lines_;
  std::map<JobId, std::vector<std::size_t>> by_job_;  // places in lines_: most follow one job
};

}  // namespace

struct EventFeed::Follower {
  std::shared_ptr<wire::Outflow> out;
  Seq sent_through;
  EventFilter filter;
  std::shared_ptr<const listener::OpenAccess::Held> access;
  bool live = false;
  wire::Timer timer;
};

class EventFeed::Collector {
 public:
  Collector(EventFilter filter, listener::Caller caller, const core::State& state, Seq after,
            std::size_t limit, Seq before = Seq(UINT64_MAX))
      : filter_(std::move(filter)),
        caller_(std::move(caller)),
        state_(state),
        limit_(limit),
        before_(before) {
    page_.looked_through = after;
  }

  // False once there is enough.
  bool add(const store::Batch& batch, const std::vector<JobId>* new_jobs) {
    page_.is_late = page_.is_late || batch.at >= filter_.before;
    if (page_.is_late) return false;
    page_.is_early = page_.is_early || batch.at < filter_.from.value_or(batch.at);
    const Seq after = page_.looked_through;
    const auto one = [this](const RecordHead& head, const auto& record) {
      if (page_.records.size() >= limit_ || head.seq >= before_) return false;
      page_.looked_through = head.seq;
      ++looked_at_;
      if (wants(state_, filter_, caller_, head, record)) {
        page_.records.push_back(record_json(head, record));
      }
      return true;
    };
    return each_record(batch, new_jobs, state_, after, one) && looked_at_ < kLookedAtMax;
  }
  Seq looked_through() const { return page_.looked_through; }
  void begin_after(Seq after) { page_.looked_through = after; }
  EventFeed::Page page() { return std::move(page_); }

 private:
  const EventFilter filter_;
  const listener::Caller caller_;
  const core::State& state_;
  const std::size_t limit_;
  const Seq before_;  // exclusive
  std::size_t looked_at_ = 0;
  EventFeed::Page page_;
};

// A page on its way: the log is read in windows until the collector has enough.
struct EventFeed::Gathering {
  Collector collector;
  std::size_t window;  // records that are read next
  Reader reader;
  std::function<void(Result<Page>)> done;
  Turns::Turn turn = {};

  // A turn points at nothing.
  bool has_turn() const { return turn.use_count() > 0; }
};

EventFeed::EventFeed(wire::Loop& loop, const listener::Projection& projection, store::LogStore& log,
                     listener::OpenAccess& access)
    : loop_(loop), projection_(projection), access_(access), log_(loop, log, /*aside=*/true) {}

EventFeed::~EventFeed() {
  *stops_ = true;
  turns_.clear();  // what is given back from here on is nobody's turn
}

void EventFeed::wait_turn(const std::string& user, Turns::Work work) {
  if (turns_.size() >= kTurnsMax) {
    std::erase_if(turns_, [](const auto& of_user) { return of_user.second.idle(); });
  }
  turns_[user].wait(std::move(work));
}

void EventFeed::page(Seq after, const EventFilter& filter, Reader reader, std::size_t limit,
                     std::function<void(Result<Page>)> done) {
  Collector collector(filter, reader.caller, projection_.state(), after, limit);
  const auto gathering = std::make_shared<Gathering>(
      Gathering{std::move(collector), std::min<std::size_t>(limit, kWindow_records),
                std::move(reader), std::move(done)});
  if (!filter.from.has_value() || is_recent(after)) return gather(gathering);
  find_time(gathering->reader, after, *filter.from,
            [this, gathering](const Result<Seq>& begin, Turns::Turn turn) {
              if (!begin.ok()) return gathering->done(begin.error());
              gathering->turn = std::move(turn);
              gathering->collector.begin_after(*begin);
              gather(gathering);
            });
}

void EventFeed::find_time(const Reader& reader, Seq low, Instant at,
                          std::function<void(const Result<Seq>&, Turns::Turn)> done) {
  wait_turn(reader.caller.user, [this, is_gone = reader.is_gone, low, at,
                                 done = std::move(done)](Turns::Turn turn) {
    if (is_gone()) return done(reader_gone(), std::move(turn));
    const auto found = std::make_shared<Result<Seq>>(Error{});
    log_.ask([found, low, at, high = projection_.state().head, stops = stops_](
                 store::LogStore& log) { *found = last_before(log, low, high, at, *stops); },
             [found, done, turn = std::move(turn)] { done(*found, turn); });
  });
}

// Whether all that comes after `after` is in memory.
bool EventFeed::is_recent(Seq after) const {
  const auto& recent = projection_.recent();
  return after >= projection_.state().head ||
         (!recent.empty() && recent.front().committed->batch.first_seq.value <= after.value + 1);
}

bool EventFeed::add_recent(Collector& collector, Seq after) const {
  if (!is_recent(after)) return false;
  const auto& recent = projection_.recent();
  auto batch = std::partition_point(
      recent.begin(), recent.end(),
      [&](const listener::RecentBatch& each) { return each.committed->last() <= after; });
  for (; batch != recent.end(); ++batch) {
    if (!collector.add(batch->committed->batch, &batch->new_jobs)) break;
  }
  return true;
}

void EventFeed::gather(const std::shared_ptr<Gathering>& gathering) {
  const Seq after = gathering->collector.looked_through();
  if (add_recent(gathering->collector, after)) {
    return gathering->done(gathering->collector.page());
  }
  if (gathering->has_turn()) return gather_from_log(gathering);
  wait_turn(gathering->reader.caller.user, [this, gathering](Turns::Turn turn) {
    gathering->turn = std::move(turn);
    gather_from_log(gathering);
  });
}

void EventFeed::gather_from_log(const std::shared_ptr<Gathering>& gathering) {
  if (gathering->reader.is_gone()) return gathering->done(reader_gone());
  const Seq after = gathering->collector.looked_through();
  const auto window = std::make_shared<Result<std::vector<store::Batch>>>(Error{});
  log_.ask([window, after, records = gathering->window, stops = stops_](
               store::LogStore& log) { *window = read_window(log, after, records, *stops); },
           [this, gathering, window] {
             if (!window->ok()) return gathering->done(window->error());
             for (const store::Batch& batch : **window) {
               // What is not folded yet cannot be judged by the state: it comes with its batch.
               const bool is_folded = batch.first_seq <= projection_.state().head;
               if (is_folded && gathering->collector.add(batch, nullptr)) continue;
               return gathering->done(gathering->collector.page());
             }
             if ((*window)->empty()) return gathering->done(gathering->collector.page());
             gathering->window = kWindow_records;
             gather(gathering);
           });
}

// The log is read forwards only: a window after the other, each before the last.
class EventFeed::BackwardWalk : public std::enable_shared_from_this<BackwardWalk> {
 public:
  BackwardWalk(EventFeed& feed, Seq before, EventFilter filter, Reader reader, std::size_t limit,
               std::function<void(Result<OlderPage>)> done)
      : feed_(feed),
        high_(before),
        filter_(std::move(filter)),
        reader_(std::move(reader)),
        limit_(limit),
        done_(std::move(done)) {}

  void fail(const Error& error) { done_(error); }
  void begin_at(Seq last) { high_ = std::min(high_, Seq(last.value + 1)); }
  void go_on() {
    if (high_.value <= 1) return end(std::nullopt);
    if (page_.records.size() >= limit_ || looked_at_ >= kLookedAtMax) return end(high_);
    const std::uint64_t high = high_.value;
    const Seq after(high > kWindow_records ? high - kWindow_records - 1 : 0);
    read(after, [self = shared_from_this(), after](Result<Page> window) {
      if (!is_forgotten(window)) return self->take(after, std::move(window), false);
      self->read_oldest(after);
    });
  }

 private:
  void read(Seq after, std::function<void(Result<Page>)> done) {
    feed_.gather(std::make_shared<Gathering>(
        Gathering{Collector(filter_, reader_.caller, feed_.projection_.state(), after,
                            kWindow_records, high_),
                  kWindow_records, reader_, std::move(done)}));
  }

  // The log is kept from somewhere in this window on.
  void read_oldest(Seq forgotten) {
    feed_.wait_turn(reader_.caller.user, [self = shared_from_this(), forgotten](Turns::Turn turn) {
      const auto after = std::make_shared<Result<Seq>>(Error{});
      self->feed_.log_.ask(
          [after, forgotten, kept = Seq(self->high_.value - 1), stops = self->feed_.stops_](
              store::LogStore& log) { *after = oldest_after(log, forgotten, kept, *stops); },
          [self, after, turn = std::move(turn)] {
            if (!after->ok()) return self->fail(after->error());
            self->read(**after, [self, after](Result<Page> window) {
              if (is_forgotten(window)) return self->end(std::nullopt);
              self->take(**after, std::move(window), true);
            });
          });
    });
  }

  void take(Seq after, Result<Page> window, bool is_bottom) {
    if (!window.ok()) return fail(window.error());
    std::vector<Json>& found = window->records;
    for (auto record = found.rbegin(); record != found.rend(); ++record) {
      page_.records.push_back(std::move(*record));
      if (page_.records.size() < limit_) continue;
      return end(Seq(page_.records.back().at("seq").get<std::uint64_t>()));
    }
    if (is_bottom || window->is_early) return end(std::nullopt);
    high_ = Seq(after.value + 1);
    looked_at_ += kWindow_records;
    go_on();
  }

  void end(std::optional<Seq> older) {
    page_.older = older;
    done_(std::move(page_));
  }

  EventFeed& feed_;
  Seq high_;  // what comes before it is still to be read
  const EventFilter filter_;
  const Reader reader_;
  const std::size_t limit_;
  const std::function<void(Result<OlderPage>)> done_;
  OlderPage page_;
  std::size_t looked_at_ = 0;
};

void EventFeed::page_before(Seq before, const EventFilter& filter, const Reader& reader,
                            std::size_t limit, std::function<void(Result<OlderPage>)> done) {
  const Seq high(std::min(before.value, projection_.state().head.value + 1));
  const auto walk =
      std::make_shared<BackwardWalk>(*this, high, filter, reader, limit, std::move(done));
  if (filter.before == kNever) return walk->go_on();
  find_time(reader, Seq(), filter.before, [walk](const Result<Seq>& last, const Turns::Turn&) {
    if (!last.ok()) return walk->fail(last.error());
    walk->begin_at(*last);
    walk->go_on();
  });
}

void EventFeed::follow(std::shared_ptr<wire::Outflow> out, Seq after, EventFilter filter,
                       const listener::Caller& caller) {
  auto follower = std::make_shared<Follower>();
  follower->out = std::move(out);
  follower->sent_through = after;
  follower->filter = std::move(filter);
  followers_.push_back(follower);
  const std::weak_ptr<Follower> weak = follower;
  follower->out->on_closed([this, weak] { followers_.remove(weak.lock()); });
  follower->access = access_.hold(caller, [this, weak] {
    const auto held = weak.lock();
    if (held == nullptr) return;
    held->out->close();
    followers_.remove(held);
  });
  follower->out->write(wire::format_sse_comment("events"));
  if (!keep_alive_timer_.pending()) keep_alive();
  catch_up(follower);
}

void EventFeed::catch_up_later(const std::shared_ptr<Follower>& follower,
                               std::chrono::milliseconds wait) {
  follower->timer = loop_.after(wait, [this, weak = std::weak_ptr<Follower>(follower)] {
    if (const auto held = weak.lock()) catch_up(held);
  });
}

void EventFeed::catch_up(const std::shared_ptr<Follower>& follower) {
  if (follower->out->buffered_bytes() > kWaiting_bytes) {
    return catch_up_later(follower, std::chrono::milliseconds(20));
  }
  const std::weak_ptr<Follower> weak = follower;
  page(follower->sent_through, follower->filter,
       {follower->access->caller, [weak] { return weak.expired(); }}, kPiece_records,
       [this, weak](const Result<Page>& found) {
         if (const auto held = weak.lock()) caught(held, found);
       });
}

void EventFeed::caught(const std::shared_ptr<Follower>& follower, const Result<Page>& found) {
  if (!found.ok()) {
    follower->out->write(wire::format_sse(
        {"", "error",
         codec::dump_json(Json{{"code", found.error().code}, {"detail", found.error().message}})}));
    follower->out->close();
    followers_.remove(follower);
    return;
  }
  follower->sent_through = found->looked_through;
  std::string text;
  for (const Json& record : found->records) {
    text += sse_text(record);
    if (text.size() <= kWaiting_bytes || &record == &found->records.back()) continue;
    follower->sent_through = Seq(record.at("seq").get<std::uint64_t>());  // the rest comes next
    break;
  }
  if (!text.empty() && !follower->out->write(text)) return;
  follower->live = follower->sent_through >= projection_.state().head;
  if (!follower->live) catch_up_later(follower, std::chrono::milliseconds(0));
}

void EventFeed::published(const listener::RecentBatch& batch) {
  if (followers_.empty()) return;
  std::vector<std::shared_ptr<Follower>> over;
  Broadcast broadcast(batch, projection_.state());
  for (const auto& follower : followers_) {
    if (!follower->live) continue;
    if (follower->out->buffered_bytes() > kWaiting_bytes) {
      over.push_back(follower);
      continue;
    }
    const std::string text =
        broadcast.text_for(follower->filter, follower->access->caller, follower->sent_through);
    if (text.size() > kWaiting_bytes) {  // in pieces, as it takes them
      follower->live = false;
      catch_up_later(follower, std::chrono::milliseconds(0));
      continue;
    }
    follower->sent_through = batch.committed->last();
    if (!text.empty()) follower->out->write(text);
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
