// EventFeed: records of the log as JSON, as a page or as server-sent events.
//
// A stream begins after any record: what the projection no longer holds is read from the log in
// pieces, then the stream continues with each batch. A slow reader is sent `overflow` and dropped;
// it resumes with the last id that it saw. Each reader gets what they may see now
// (accounts/access.h). The log is read beside the loop, because its disk may be slow or across a
// network: a piece at a time, and one of each user at a time. Loop thread only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "listener/call.h"
#include "listener/log_thread.h"
#include "listener/open_access.h"
#include "listener/projection.h"
#include "server/turns.h"
#include "store/log_store.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::server {

struct EventFilter {
  std::optional<JobId> job;
  std::set<std::string> kinds;  // empty: all
  bool audit = false;           // only what people did, and what was refused to them
  std::string user;             // "": whoever did it
  std::optional<Instant> from;  // at that instant or later
  Instant before = kNever;
};

class EventFeed {
 public:
  EventFeed(wire::Loop& loop, const listener::Projection& projection, store::LogStore& log,
            listener::OpenAccess& access);
  ~EventFeed();

  struct Page {
    std::vector<nlohmann::json> records;
    Seq looked_through;     // nothing up to here is left out
    bool is_early = false;  // it looked at what was before the filter's time
    bool is_late = false;   // what follows is after the filter's time
  };
  struct Reader {
    listener::Caller caller;
    std::function<bool()> is_gone;  // once it is true, no more is read
  };
  // At most `limit` records after `after`, of those that are kept where the filter has a `from`;
  // `done` is called now or later. Errors: kNotFound
  // records_forgotten; kUnavailable reader_gone; what the log says.
  void page(Seq after, const EventFilter& filter, Reader reader, std::size_t limit,
            std::function<void(Result<Page>)> done);

  // The newest records before `before`, the newest first: at most `limit`. `older` is what to ask
  // for next; none: nothing older is kept.
  struct OlderPage {
    std::vector<nlohmann::json> records;
    std::optional<Seq> older;
  };
  void page_before(Seq before, const EventFilter& filter, const Reader& reader, std::size_t limit,
                   std::function<void(Result<OlderPage>)> done);

  // Until the reader goes, or may not read any more.
  void follow(std::shared_ptr<wire::Outflow> out, Seq after, EventFilter filter,
              const listener::Caller& caller);
  void published(const listener::RecentBatch& batch);
  void close_all();
  std::size_t followers() const { return followers_.size(); }

 private:
  struct Follower;
  class Collector;
  struct Gathering;
  class BackwardWalk;
  void gather(const std::shared_ptr<Gathering>& gathering);
  void gather_from_log(const std::shared_ptr<Gathering>& gathering);
  // Calls `work` when the user's other reads are over, or at once.
  void wait_turn(const std::string& user, Turns::Work work);
  bool is_recent(Seq after) const;
  // The last record before `at` of those after `low`.
  void find_time(const Reader& reader, Seq low, Instant at,
                 std::function<void(const Result<Seq>&, Turns::Turn)> done);
  bool add_recent(Collector& collector, Seq after) const;
  void catch_up(const std::shared_ptr<Follower>& follower);
  void catch_up_later(const std::shared_ptr<Follower>& follower, std::chrono::milliseconds wait);
  void caught(const std::shared_ptr<Follower>& follower, const Result<Page>& found);
  void keep_alive();

  wire::Loop& loop_;
  const listener::Projection& projection_;
  listener::OpenAccess& access_;
  std::list<std::shared_ptr<Follower>> followers_;
  wire::Timer keep_alive_timer_;
  std::map<std::string, Turns> turns_;  // of users
  const std::shared_ptr<std::atomic<bool>> stops_ = std::make_shared<std::atomic<bool>>(false);
  listener::LogThread log_;  // last: what it was asked for ends first
};

}  // namespace dove::server
