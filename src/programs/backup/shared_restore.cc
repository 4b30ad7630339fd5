#include "programs/backup/shared_restore.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "files/text_file.h"
#include "programs/backup/copy_rows.h"
#include "programs/commands.h"
#include "store/postgres/new_log.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {
namespace {

constexpr char kName[] = "dove restore";
constexpr std::int64_t kLease_us = 30'000'000;
constexpr std::chrono::seconds kRenew{5};
constexpr std::int64_t kStandbyThere_us = 5'000'000;  // as controller/turn.h has it

Result<void> check_no_standby(store::PostgresStore& store) {
  TRY_ASSIGN(const std::vector<store::ControllerSeen> seen, store.standbys());
  for (const store::ControllerSeen& one : seen) {
    if (one.ago_us > kStandbyThere_us) continue;
    return Error{ErrorKind::kConflict, "controllers_run",
                 fmt::format("controller {} ({}) stands by: stop all controllers first; one that "
                             "was stopped just now is forgotten within {} s",
                             one.name, one.url, kStandbyThere_us / 1'000'000),
                 "--store"};
  }
  return {};
}

// A log may take longer to read than any lease lasts. One that is lost meanwhile is seen at the
// end.
class Renewing {
 public:
  explicit Renewing(store::PostgresStore& store)
      : thread_([&store](const std::stop_token& stops) {
          std::mutex mutex;
          std::condition_variable_any wake;
          std::unique_lock lock(mutex);
          while (!wake.wait_for(lock, stops, kRenew, [&stops] { return stops.stop_requested(); })) {
            (void)store.renew();
          }
        }) {}

 private:
  std::jthread thread_;
};

Result<void> verify_all(store::PostgresStore& store) {
  TRY(store.verify());
  TRY_ASSIGN(const std::vector<Error> damages, store.damages());
  if (!damages.empty()) return damages.front();
  return {};
}

Result<std::unique_ptr<store::PostgresStore>> open_store(const std::string& url) {
  store::PostgresOptions options;
  options.url = url;
  options.lease_us = kLease_us;
  options.name = kName;
  options.version = version();
  return store::PostgresStore::open(std::move(options));
}

Result<Epoch> begin_term(store::PostgresStore& store) {
  TRY(check_no_standby(store));
  Result<Epoch> begun = store.begin_epoch(kName);
  if (begun.ok() || begun.error().code != "lease_held") return begun;
  Error error = begun.error();
  error.message += "; stop all controllers first";
  return error;
}

Result<void> copy_all(store::SqliteStore& from, store::NewLog& to) {
  TRY(copy_rows(from, to, [] { return Result<void>(); }));
  TRY_ASSIGN(const std::optional<store::Snapshot> snapshot, from.latest_snapshot());
  if (snapshot) TRY(to.take_snapshot(*snapshot));
  return from.each_blob([&to](std::string_view sha256, Seq seq, std::string_view bytes) {
    return to.take_blob(sha256, seq, bytes);
  });
}

Result<void> fill(const std::string& directory, store::PostgresStore& store) {
  TRY_ASSIGN(const Epoch term, begin_term(store));
  const Renewing renewing(store);
  TRY_ASSIGN(const auto from, store::SqliteStore::open(directory, store::OpenMode::kReadOnly));
  TRY_ASSIGN(const auto to, store::NewLog::begin(store.options().url, term));
  TRY(copy_all(*from, *to));
  return to->commit();
}

// What is left in the directory of a controller whose log is elsewhere.
Result<void> leave_keys(const std::string& directory) {
  for (const char* name : {"log.sqlite", "log.sqlite-wal", "log.sqlite-shm", "head"}) {
    std::error_code failed;
    std::filesystem::remove(directory + "/" + name, failed);
    if (!failed) continue;
    return Error{ErrorKind::kInternal, "file_unwritable",
                 fmt::format("{}/{}: {}", directory, name, failed.message()), directory};
  }
  return files::write_atomically(directory + "/" + store::kSharedLogMark, "", 0644,
                                 files::Survives::kPowerCut);
}

Result<void> end_move(const std::string& directory, const std::string& url) {
  TRY_ASSIGN(const auto store, open_store(url));
  TRY(verify_all(*store));
  return leave_keys(directory);
}

}  // namespace

Result<void> check_empty_store(const std::string& url) {
  TRY_ASSIGN(const auto store, open_store(url));
  TRY_ASSIGN(const std::string keys, store->agreed_keys(""));
  if (!store->head().seq && keys.empty()) return {};
  return store::store_not_empty();
}

Result<void> move_to_store(const std::string& directory, const std::string& url) {
  {
    TRY_ASSIGN(const auto store, open_store(url));
    TRY(fill(directory, *store));
  }
  const Result<void> done = end_move(directory, url);
  if (done.ok()) return done;
  Error error = done.error();
  error.message +=
      "; the database holds the log by now: drop it there (DROP SCHEMA dove CASCADE) before you "
      "restore again";
  return error;
}

Result<Seq> restore_shared(const std::string& url, std::int64_t now_s) {
  TRY_ASSIGN(const auto store, open_store(url));
  if (!store->head().seq) {
    return Error{ErrorKind::kNotFound, "data_empty",
                 "there is no log in this database: name the one of the controllers (--store)",
                 "--store"};
  }
  TRY(begin_term(*store));
  {
    const Renewing renewing(*store);
    TRY(verify_all(*store));
  }
  return store->begin_incarnation(now_s);
}

}  // namespace dove::programs
