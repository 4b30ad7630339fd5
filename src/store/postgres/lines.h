// The connections of a PostgresStore: one writer, and others lent one at a time. Internal.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "store/postgres/connection.h"
#include "store/postgres/log_tables.h"
#include "store/postgres/postgres_store.h"

namespace dove::store {

constexpr char kWriterName[] = "dove writer";
constexpr std::chrono::seconds kLeasePatience{2};
constexpr std::chrono::seconds kReadPatience{60};
// How long a new term waits for the leader's row once the lease is over: a leader that stands still
// in the middle of an append still holds it. Then the database ends those of its sessions whose
// transaction is older than kOldTransaction and waits for its client. Writes wait meanwhile.
constexpr std::chrono::milliseconds kRowPatience{200};
constexpr std::chrono::milliseconds kOldTransaction{150};

// Guarded by PostgresStore::writer_mutex_.
struct PostgresStore::Writer {
  Connection connection;
  Chain hasher;
  Sha256 chain{};
  Epoch newest_epoch;

  explicit Writer(Connection opened) : connection(std::move(opened)) {}
};

// Gives its connection back when it goes, unless that is over.
class PostgresStore::Lent {
 public:
  Lent(PostgresStore& store, std::unique_ptr<Connection> connection)
      : store_(&store), connection_(std::move(connection)) {}
  Lent(Lent&& other) noexcept = default;
  Lent& operator=(Lent&&) = delete;
  ~Lent() {
    if (connection_ == nullptr || connection_->is_over()) return;
    std::lock_guard lock(store_->state_mutex_);
    store_->idle_.push_back(std::move(connection_));
  }
  Connection& operator*() { return *connection_; }
  Connection* operator->() { return connection_.get(); }

 private:
  PostgresStore* store_;
  std::unique_ptr<Connection> connection_;
};

// The rows of the log, in a pipeline; `line` must have been given to prepare_rows() before.
Result<void> prepare_rows(Connection& line);
Result<void> send_record(Connection& line, BatchNumber batch, const LinkedRecord& record);
Result<void> send_batch_row(Connection& line, const BatchHeader& header, const Sha256& chain);

#define DOVE_PG_SNAPSHOT_COLUMNS "seq, batch, epoch, at_us, chain, state_hash, sha256, bytes"
// A row with those columns, compared with its digest.
Result<Snapshot> pg_snapshot_at(const Rows& rows, int row);

inline Error pg_blob_damaged(const std::string& sha256) {
  return {ErrorKind::kCorrupt, "blob_damaged",
          "blob " + sha256 +
              " in the table dove.blobs was changed: restore the database from a backup, see "
              "docs/operate/recovery.md",
          "blob " + sha256};
}

}  // namespace dove::store
