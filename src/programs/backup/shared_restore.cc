#include "programs/backup/shared_restore.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "programs/commands.h"
#include "store/postgres/postgres_store.h"

namespace dove::programs {
namespace {

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
  const Renewing renewing(store);
  TRY(store.verify());
  TRY_ASSIGN(const std::vector<Error> damages, store.damages());
  if (!damages.empty()) return damages.front();
  return {};
}

}  // namespace

Result<Seq> restore_shared(const std::string& url, std::int64_t now_s) {
  store::PostgresOptions options;
  options.url = url;
  options.lease_us = kLease_us;
  options.name = "dove restore";
  options.version = version();
  TRY_ASSIGN(const auto store, store::PostgresStore::open(std::move(options)));
  if (!store->head().seq) {
    return Error{ErrorKind::kNotFound, "data_empty",
                 "there is no log in this database: name the one of the controllers (--store)",
                 "--store"};
  }
  TRY(check_no_standby(*store));
  const Result<Epoch> begun = store->begin_epoch("dove restore");
  if (!begun.ok()) {
    Error error = begun.error();
    if (error.code == "lease_held") error.message += "; stop all controllers first";
    return error;
  }
  TRY(verify_all(*store));
  return store->begin_incarnation(now_s);
}

}  // namespace dove::programs
