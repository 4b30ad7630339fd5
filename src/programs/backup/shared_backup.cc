#include "programs/backup/shared_backup.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "controller/ledger.h"
#include "programs/backup/copy_rows.h"
#include "programs/server/shared_log.h"
#include "server/secrets/vault.h"
#include "store/postgres/log_view.h"
#include "store/sqlite/new_log_file.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {
namespace {

Result<void> goes_on(const BackupSource& from) {
  if (!from.break_off) return {};
  return Error{ErrorKind::kUnavailable, "broken_off", "it was told to end", ""};
}

Result<void> check_keys(const BackupSource& from) {
  TRY_ASSIGN(const auto store, open_to_read(from.store));
  TRY_ASSIGN(const std::string keys, store->agreed_keys(""));
  if (keys.empty()) {
    return Error{ErrorKind::kNotFound, "no_log",
                 "no controller has begun a log in this database: name the one that `dove server "
                 "--store` has",
                 "--store"};
  }
  if (agrees_on_keys(*store, from.data)) return {};
  return Error{ErrorKind::kConflict, "keys_differ",
               fmt::format("{} does not hold the keys of the controllers that share this log: name "
                           "the data directory of one of them with --data",
                           from.data),
               from.data};
}

Result<void> copy_view(const BackupSource& from, const std::string& to) {
  TRY_ASSIGN(const auto view, store::LogView::open(from.store));
  TRY_ASSIGN(const auto file, store::NewLogFile::begin(to));
  TRY(copy_rows(*view, *file, [&from] { return goes_on(from); }));
  const auto take_snapshot = [&](const store::Snapshot& snapshot) -> Result<void> {
    TRY(goes_on(from));
    return file->take_snapshot(snapshot);
  };
  TRY(view->each_snapshot(take_snapshot));
  const auto take_blob = [&](std::string_view sha256, Seq seq,
                             std::string_view bytes) -> Result<void> {
    TRY(goes_on(from));
    return file->take_blob(sha256, seq, bytes);
  };
  TRY(view->each_blob(take_blob));
  return file->commit();
}

// Folds the copy, which compares the state hashes that were recorded, and looks whether the key of
// what it holds of secrets is there: controllers have copies of it, which may be old.
Result<void> check_state(const BackupSource& from, const std::string& to) {
  store::SqliteOptions options;
  options.verifies_tail = false;  // the ledger reads it
  TRY_ASSIGN(const auto copy, store::SqliteStore::open(to, store::OpenMode::kReadOnly, options));
  controller::Ledger ledger;
  TRY(ledger.recover(*copy, *copy));
  server::Vault vault(from.data + "/secrets.key");
  const Result<void> held = vault.check(ledger.state().secrets);
  if (held.ok()) return {};
  Error error = held.error();
  error.message += "; make the backup where the leader runs, or copy its secrets.key here";
  return error;
}

}  // namespace

Result<std::unique_ptr<store::PostgresStore>> open_to_read(const std::string& url) {
  store::PostgresOptions options;
  options.url = url;
  options.only_reads = true;
  return store::PostgresStore::open(std::move(options));
}

Result<void> copy_shared_log(const BackupSource& from, const std::string& to) {
  TRY(check_keys(from));
  const Result<void> copied = copy_view(from, to);
  if (copied.ok()) return check_state(from, to);
  Error error = copied.error();
  error.message += "; nothing is kept of this backup";
  return error;
}

Result<std::string> shared_notices_of(const BackupSource& from) {
  TRY_ASSIGN(const auto store, open_to_read(from.store));
  return shared_notices(*store, from.data).read();
}

}  // namespace dove::programs
