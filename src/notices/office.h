// Office: follows the log and tells people what happened, at least once.
//
// The log is the outbox: what the office keeps says up to which record notices were made, and
// which of them wait to be delivered. It is written within a second of a change; what happens after
// it is made again from the log, with the same ids. Deciding waits for nothing here: records come
// from the projection, and all that blocks is done by threads of the office.
//
// Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/state/state.h"
#include "notices/notice.h"
#include "notices/outbox.h"
#include "notices/place.h"
#include "notices/settings.h"
#include "notices/wording.h"
#include "store/log_store.h"
#include "wire/loop.h"

namespace dove::notices {

struct OfficeOptions {
  Settings settings = {};
  Place place = {};        // unset: it is never started, and keeps nothing
  std::string cluster_id;  // of the data directory
  OutboxLimits limits = {};
  // Blocks, in any thread (Delivery::deliver), until `stop` was called.
  std::function<Attempted(const Letter&, const Origin&)> deliver;
  std::function<void()> stop = [] {};
};

class Office {
 public:
  // `state` is of the committed records; it outlives the office, as do loop and log.
  Office(wire::Loop& loop, const core::State& state, store::LogStore& log, OfficeOptions options);
  ~Office();
  Office(const Office&) = delete;
  Office& operator=(const Office&) = delete;

  const Settings& settings() const { return options_.settings; }
  // Takes up where the file ends. `url`: of the console. Before the first batch.
  void start(std::string url);
  // The batch was folded into the state.
  void committed(const store::Batch& batch);
  // Another controller goes on from what is kept: nothing more is begun, and once what is under way
  // has come back, after `at_most` at the latest, what is known is written for the last time and
  // `done` is called, in any thread. Once; stop() follows.
  void rest(std::chrono::microseconds at_most, std::function<void()> done);
  // Writes the file, but for one that rests, and waits for what is under way, a second or two.
  // Once.
  void stop();

  // Targets of a user as people see them, with how they do: NoticeTargets of api/openapi.yaml.
  nlohmann::json targets_json(const std::string& user) const;
  // Sends one notice now. Errors: kNotFound no_such_target; kExhausted notices_limited;
  // kUnavailable notices_busy.
  void test(const std::string& user, std::size_t index,
            std::function<void(Result<Attempted>)> done);
  // For metrics that are looked up.
  void measure() const;

 private:
  struct Found;  // records read from the log, for the loop
  void restore();
  void catch_up(Seq from, Seq to);
  void take_found(const std::vector<Found>& found, Seq through);
  void make(const std::vector<Notice>& notices);
  void announce(const std::vector<Coming>& coming);
  void look_at_coming();
  void pump();
  void send(Letter letter);
  void arrived(const Letter& letter, const Attempted& result);
  void rest_if_idle();
  void keep_last();
  void changed();
  void write();
  void write_now() const;  // blocks: not while the loop serves
  std::string kept() const;
  std::optional<NoticeTarget> find_target(const std::string& user, const std::string& id) const;
  Instant now() const { return Instant{loop_.wall_us()}; }
  Origin origin() const { return {state_.settings.name, url_}; }

  wire::Loop& loop_;
  const core::State& state_;
  store::LogStore& log_;
  const OfficeOptions options_;
  std::string url_;
  // A simulated disk has no such file, and an office that only others ask has none either.
  const bool keeps_ = loop_.world() == nullptr && options_.place.read != nullptr;
  Outbox outbox_;
  Seq read_through_;
  bool catching_up_ = false;
  Seq caught_up_at_;
  bool stopped_ = false;
  bool rests_ = false;
  std::function<void()> rested_;  // until the last writing
  wire::Timer rest_timer_;
  Instant kept_at_;  // what was due before was made by a former life
  std::map<std::pair<JobId, NoticeAbout>, Coming> coming_;
  std::set<Coming> coming_by_time_;
  std::size_t mails_under_way_ = 0;
  std::size_t posts_under_way_ = 0;
  std::size_t tests_under_way_ = 0;
  bool is_changed_ = false;
  Seq written_through_;
  wire::Timer pump_timer_;
  wire::Timer coming_timer_;
  wire::Timer write_timer_;
  wire::Timer late_timer_;
  // Held by what comes back to the loop, which looks whether the office is still there.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  struct Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace dove::notices
