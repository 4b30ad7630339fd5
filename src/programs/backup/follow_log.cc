#include "programs/backup/follow_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "programs/backup/shared_backup.h"
#include "programs/service/notice.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {
namespace {

constexpr auto kLook = std::chrono::milliseconds(200);  // at `stop`

bool passes(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kTimeout ||
         error.kind == ErrorKind::kExhausted || error.code == "bucket_refused";
}

template <class Store>
Result<void> keep_each(Store& log, BackupPlace& place, KeptTo& kept, ServiceSocket& service) {
  for (;;) {
    service.alive();
    TRY_ASSIGN(const bool more, keep_segment(log, log, place, kept));
    if (!more) return {};
  }
}

// Opened anew each time, so that a server may be stopped, restored or moved meanwhile.
Result<void> keep_all(const BackupSource& from, BackupPlace& place, KeptTo& kept,
                      ServiceSocket& service) {
  if (!from.store.empty()) {
    TRY_ASSIGN(const auto log, open_to_read(from.store));
    return keep_each(*log, place, kept, service);
  }
  store::SqliteOptions options;
  options.verifies_tail = false;  // each segment is verified
  TRY_ASSIGN(const auto log,
             store::SqliteStore::open(from.data, store::OpenMode::kReadOnly, options));
  return keep_each(*log, place, kept, service);
}

// After trouble: what was being put may be there all the same.
Result<void> go_on(const BackupSource& from, BackupPlace& place, const KeptTo& base, KeptTo& kept,
                   ServiceSocket& service) {
  TRY_ASSIGN(kept, kept_to(place, base));
  return keep_all(from, place, kept, service);
}

void wait(Span every, const std::atomic<bool>& stop, ServiceSocket& service) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(every.us);
  while (!stop && std::chrono::steady_clock::now() < until) {
    service.alive();
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

Result<void> follow_log(const BackupSource& from, BackupPlace& place, const KeptTo& base,
                        Span every, const std::atomic<bool>& stop) {
  TRY_ASSIGN(KeptTo kept, kept_to(place, base));
  fmt::print("{}: segments follow from record {} on, each {} s\n", place.path(""), kept.head.value,
             every.us / 1'000'000);
  std::fflush(stdout);
  ServiceSocket service;
  service.ready(fmt::format("keeps segments in {}", place.path("")));
  bool waits = false;
  for (bool last = false; !last;) {
    last = stop;
    const Result<void> done =
        waits ? go_on(from, place, base, kept, service) : keep_all(from, place, kept, service);
    if (!done.ok() && (last || !passes(done.error()))) return done.error();
    if (!done.ok() && !waits) {
      fmt::print(stderr, "dove backup: {}; records after {} are kept later\n", done.error().message,
                 kept.head.value);
    } else if (done.ok() && waits) {
      fmt::print(stderr, "dove backup: it goes on; records are kept to {}\n", kept.head.value);
    }
    waits = !done.ok();
    wait(every, stop, service);
  }
  service.stopping();
  fmt::print("{}: records to {}\n", place.path(""), kept.head.value);
  return {};
}

}  // namespace dove::programs
