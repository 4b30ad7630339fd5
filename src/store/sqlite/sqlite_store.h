// SqliteStore: the log in one SQLite file, `DIR/log.sqlite`, durable and chained by SHA-256.
//
// One transaction per append, WAL with synchronous=FULL: on return the batch survives a power cut.
// One process may write a directory (`DIR/lock`); others may open it read-only, also while a
// server runs on it. Files are 0600 in a directory of 0700. Opening verifies the log since the last
// snapshot; read() verifies what it reads, verify() everything. Any thread may call anything, as
// LogStore says; appends and the keeper's work exclude each other.
//
// The first open of a process ignores SIGXFSZ, so that a limit on file sizes is an Error.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/log_store.h"

namespace dove::store {

enum class OpenMode { kWrite, kReadOnly };

struct SqliteOptions {
  std::int64_t size_max_bytes = 0;  // of the database file; over it append() is kExhausted. 0: none
};

class SqliteStore : public LogStore, public LogKeeper {
 public:
  // kWrite creates what is missing and holds the directory until destroyed. Errors: kConflict
  // `data_in_use` or `data_newer`, kDenied `data_not_accessible`, kCorrupt `log_corrupt` (names the
  // seq) or `data_damaged`, kNotFound (`data_missing`, `data_empty`) when read-only.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& directory, OpenMode mode,
                                                   const SqliteOptions& options = {});
  ~SqliteStore() override;

  // When read-only: of the time it was opened.
  Head head() const override;
  Result<void> append(Epoch epoch, Seq expected_head, const Batch& batch) override;
  Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit) override;
  // Verifies the bytes against their digest: kCorrupt when they were changed.
  Result<std::optional<std::string>> blob(const std::string& sha256) override;

  Result<Epoch> begin_epoch(const std::string& holder) override;
  Result<void> put_snapshot(const Snapshot& snapshot) override;
  // kCorrupt names the remedy when its bytes were changed.
  Result<std::optional<Snapshot>> latest_snapshot() override;
  // In transactions of a bounded number of batches; what an ended process did not get to is left
  // for the next call. The last batch always stays.
  Result<void> forget_before(Seq before, const std::vector<std::string>& blobs_in_use) override;

  // Reads every record kept and the snapshot that counts; the first damage found.
  Result<void> verify();
  // Every snapshot and blob that is not what was written, each an error with the remedy, whose
  // `field` is "blob SHA-256" or "snapshot SEQ".
  Result<std::vector<Error>> damages();
  // Keeps what is left of a damaged blob under another name, so that it is not read any more, and
  // the same bytes can be stored anew.
  Result<void> set_aside(const std::string& sha256);
  // The last record that retention dropped; read() from here on.
  Result<Seq> forgotten_through();

 private:
  struct Writer;
  struct Reader;
  class ReaderLease;
  explicit SqliteStore(std::string directory);

  Result<void> open_for_writing(const SqliteOptions& options);
  Result<void> open_for_reading();
  Result<void> verify_tail();
  Result<ReaderLease> lease_reader();
  Result<Writer*> writer();
  Result<void> drop_batches(Writer& w, Seq before);
  Result<void> drop_blobs(Writer& w, Seq through, const std::vector<std::string>& in_use);

  std::string directory_;
  std::mutex writer_mutex_;  // held for each use of writer_
  std::unique_ptr<Writer> writer_;
  mutable std::mutex state_mutex_;  // of head_ and idle_readers_
  Head head_;
  std::vector<std::unique_ptr<Reader>> idle_readers_;
};

}  // namespace dove::store
