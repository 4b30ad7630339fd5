// Follower: keeps a verified copy of another controller's log in a data directory of its own.
//
// On a thread of its own it reads what was written there, verifies the chain, appends it as it is,
// and folds it, which compares the state hashes that were recorded. It decides nothing and writes
// no record of its own; snapshots and retention are its own. While the source is away it waits and
// tries again. docs/operate/follow.md.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/random.h"
#include "base/result.h"
#include "controller/housekeeping.h"
#include "controller/ledger.h"
#include "controller/options.h"
#include "programs/follow/log_client.h"
#include "programs/server/server_settings.h"
#include "programs/service/log_check.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {

class Follower {
 public:
  struct Standing {
    Seq kept;                   // the copy's last record
    Seq source;                 // the source's, when it last answered
    std::int64_t whole_us = 0;  // monotonic: when the copy last was whole; 0: not since the start
    std::optional<Error> trouble;  // why it is not followed now

    // It holds all that the source had, or did moments ago: a busy source is ahead by some records.
    bool is_current(std::int64_t now_us) const {
      if (trouble || whole_us == 0) return false;
      return kept >= source || now_us - whole_us < kMoment_us;
    }
    static constexpr std::int64_t kMoment_us = 10'000'000;
  };

  // Opens the copy, and begins to follow. `on_end`: called once at most, from any thread, when it
  // cannot go on; the copy stays as it is. Errors: kConflict `not_a_copy`, those of opening a log.
  static Result<std::unique_ptr<Follower>> open(const ServerSettings& settings,
                                                std::function<void(const Error&)> on_end);
  ~Follower();

  Standing standing() const;  // any thread

 private:
  Follower(const ServerSettings& settings, const std::string& token,
           std::unique_ptr<store::SqliteStore> store, std::function<void(const Error&)> on_end);
  void run();
  Result<void> step();
  Result<store::LogPage> first_page(store::Snapshot& first);
  Result<void> check_cluster();
  Result<void> take(const store::LogPage& page, const store::Snapshot* first);
  Result<void> bring_blobs(const store::Snapshot* first, std::vector<store::Batch>& batches);
  void has_followed(const store::LogPage& page);
  void is_away(const Error& error);

  const std::string urls_;
  const std::string data_dir_;
  const std::function<void(const Error&)> on_end_;
  controller::ControllerOptions options_;  // of snapshots and retention
  std::unique_ptr<store::SqliteStore> store_;
  controller::Ledger ledger_;
  controller::Housekeeping housekeeping_;
  LogClient client_;
  std::string cluster_;  // that the copy is of; "": nothing was read yet
  Random jitter_;
  int failures_ = 0;
  std::set<std::string> refused_;  // URLs that gave an error that stays, since one was followed
  std::string followed_;           // the URL that was followed last; "": none yet
  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  Standing standing_;
  bool stops_ = false;
  std::unique_ptr<LogCheck> check_;
  std::thread thread_;
};

}  // namespace dove::programs
