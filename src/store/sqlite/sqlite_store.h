// SqliteStore: the log in one SQLite file, `DIR/log.sqlite`, durable and chained by SHA-256.
//
// One transaction per append, WAL with synchronous=FULL: on return the batch survives a power cut.
// One process may write a directory (`DIR/lock`); others may open it read-only, also while a
// server runs on it. Files are 0600 in a directory of 0700. Opening verifies the log since the last
// snapshot; read() verifies what it reads, verify() everything. None of them keeps one view of the
// database for long, which would keep the write-ahead log from being emptied. Any thread may call
// anything, as LogStore says; appends and the keeper's work exclude each other.
//
// The first open of a process ignores SIGXFSZ, so that a limit on file sizes is an Error.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/chain/log_page.h"
#include "store/log_auditor.h"
#include "store/log_source.h"
#include "store/log_store.h"

namespace dove::store {

// A file of this name in a data directory says that the log lies in a database: there is none here,
// and none is begun.
constexpr char kSharedLogMark[] = "log_is_shared";

enum class OpenMode { kWrite, kReadOnly };

struct SqliteOptions {
  std::int64_t size_max_bytes = 0;  // of the database file; over it append() is kExhausted. 0: none
  // false: the caller reads the log since the last snapshot at once, which verifies it.
  bool verifies_tail = true;
};

class SqliteStore : public LogStore, public LogKeeper, public LogAuditor, public LogSource {
 public:
  // kWrite creates what is missing and holds the directory until destroyed. Errors: kConflict
  // `data_in_use`, `data_newer`, `record_newer` or `shared_log`, kDenied `data_not_accessible`,
  // kCorrupt `log_corrupt` (names the seq), `data_damaged`, or `log_behind` or `wal_missing`
  // (head_file.h), kNotFound (`data_missing`, `data_empty`) when read-only.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& directory, OpenMode mode,
                                                   const SqliteOptions& options = {});
  ~SqliteStore() override;

  // When read-only: of the time it was opened.
  Head head() const override;
  // Also fails with kUnavailable `commit_unknown` when the disk did not write: then the batch may
  // be in the log, or may not, as the next open() finds.
  Result<void> append(Epoch epoch, Seq expected_head, const Batch& batch) override;
  Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit) override;
  // Verifies the bytes against their digest: kCorrupt when they were changed.
  Result<std::optional<std::string>> blob(const std::string& sha256) override;
  Result<std::optional<std::string>> chain_at(Seq seq) override;

  Result<Epoch> begin_epoch(const std::string& holder) override;
  Result<void> put_snapshot(const Snapshot& snapshot) override;
  // Passes over one whose bytes were changed where the log still reaches back to the one before it,
  // or to its own beginning; else kCorrupt with the remedy.
  Result<std::optional<Snapshot>> latest_snapshot() override;
  // In slices, between which others append; what an ended process did not get to is left for the
  // next call. The last batch always stays.
  Result<void> forget_before(Seq before, const std::vector<std::string>& blobs_in_use) override;

  Result<void> verify(const std::atomic<bool>* stops = nullptr) override;
  Result<std::vector<Error>> damages(const std::atomic<bool>* stops = nullptr) override;
  Result<void> set_aside(const std::string& sha256) override;
  // The last record that retention dropped; read() from here on.
  Result<Seq> forgotten_through();
  // Every blob as it is stored, with the record that keeps it (schema.h); ends with the first error
  // of `visit`.
  Result<void> each_blob(
      const std::function<Result<void>(std::string_view sha256, Seq, std::string_view)>& visit);

  Result<std::string> page(Seq after, Epoch term, std::size_t bytes_max) override;
  Result<std::string> snapshot_piece(Seq of, std::uint64_t offset, std::size_t bytes_max) override;
  // Takes rows of another log as they are, with the blobs of `batches`, which are those of `page`
  // (verified_batches), and `first`, a snapshot that an empty store begins with; durable on return.
  // Errors: kConflict `log_differs` when the page does not continue this log; those of append().
  // REQUIRES: nobody else appends.
  Result<void> take(const LogPage& page, const std::vector<Batch>& batches,
                    const Snapshot* first = nullptr);

 private:
  struct Writer;
  struct Reader;
  class ReaderLease;
  explicit SqliteStore(std::string directory);

  Result<void> open_for_writing(const SqliteOptions& options);
  Result<void> open_for_reading();
  Result<void> verify_tail();
  Result<void> insert_rows(Writer& w, const LogPage& page, const std::vector<Batch>& batches);
  Result<ReaderLease> lease_reader();
  Result<Writer*> writer();
  // Some of them; false: none was left to drop.
  Result<bool> drop_batches(Writer& w, Seq before);
  // Stored up to `through`, and not in use.
  Result<std::vector<std::string>> blobs_of(Seq through, const std::vector<std::string>& in_use);
  Result<void> drop_blobs(Writer& w, Seq through, std::span<const std::string> unused);

  std::string directory_;
  std::mutex writer_mutex_;  // held for each use of writer_
  std::unique_ptr<Writer> writer_;
  mutable std::mutex state_mutex_;  // of head_ and idle_readers_
  Head head_;
  std::vector<std::unique_ptr<Reader>> idle_readers_;
};

}  // namespace dove::store
