// LogView: all of a log in PostgreSQL as of one instant, for a backup.
//
// One transaction, from open() until it goes: controllers append and drop records meanwhile, and
// the database cleans up after it. It takes no lock that anybody waits for, and its role needs
// SELECT alone. One thread. Calls block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/log_store.h"
#include "store/postgres/connection.h"

namespace dove::store {

class LogView {
 public:
  // Errors: those of PostgresStore::open() with only_reads.
  static Result<std::unique_ptr<LogView>> open(const std::string& url);

  // The last record that retention dropped; page() from here on.
  Result<Seq> forgotten_through();
  // As LogSource::page().
  Result<std::string> page(Seq after, Epoch term, std::size_t bytes_max);
  // Oldest first; ends with the first error of `visit`. Errors: kCorrupt `snapshot_damaged`.
  Result<void> each_snapshot(const std::function<Result<void>(const Snapshot&)>& visit);
  // Every blob as it is stored, with the record that keeps it; likewise.
  Result<void> each_blob(
      const std::function<Result<void>(std::string_view sha256, Seq, std::string_view)>& visit);

 private:
  explicit LogView(Connection opened) : connection_(std::move(opened)) {}

  Connection connection_;
  std::optional<PgTransaction> view_;  // goes before it
};

}  // namespace dove::store
