// The connections of a SqliteStore: one writer, and readers lent one at a time. Internal.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <utility>

#include "store/chain/links.h"
#include "store/sqlite/database.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/head_file.h"
#include "store/sqlite/log_reserve.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::store {

// Guarded by SqliteStore::writer_mutex_. Statements go before the database they belong to.
struct SqliteStore::Writer {
  explicit Writer(DataDirectory held) : directory(std::move(held)) {}

  DataDirectory directory;
  Database database;
  HeadFile head_file;
  Statement insert_batch;
  Statement insert_record;
  Statement upsert_blob;
  LogReserve reserve;
  Chain hasher;
  Sha256 chain{};
  Epoch newest_epoch;
  bool in_order = false;  // it was opened whole, so it may say at its end that it was closed whole
};

struct SqliteStore::Reader {
  Database database;
};

// Gives its reader back when it goes.
class SqliteStore::ReaderLease {
 public:
  ReaderLease(SqliteStore& store, std::unique_ptr<Reader> reader)
      : store_(&store), reader_(std::move(reader)) {}
  ReaderLease(ReaderLease&& other) noexcept = default;
  ReaderLease& operator=(ReaderLease&&) = delete;
  ~ReaderLease() {
    if (reader_ == nullptr) return;
    std::lock_guard lock(store_->state_mutex_);
    store_->idle_readers_.push_back(std::move(reader_));
  }
  Database& database() { return reader_->database; }

 private:
  SqliteStore* store_;
  std::unique_ptr<Reader> reader_;
};

Result<void> insert_record(Statement& insert, BatchNumber batch, const LinkedRecord& record);
Result<void> insert_batch_row(Statement& insert, const BatchHeader& header, const Sha256& chain);
Result<void> insert_blobs(Statement& upsert, const Batch& batch);
// Where the kept part of the log begins.
Result<void> set_anchor(Database& database, const Anchor& anchor);
// Writes the row, and drops all but the newest two. REQUIRES: a transaction.
Result<void> insert_snapshot(Database& database, const Snapshot& snapshot, const Sha256& chain);

inline Error blob_damaged(const std::string& sha256, const std::string& directory) {
  return {ErrorKind::kCorrupt, "blob_damaged",
          fmt::format("blob {} in {}/log.sqlite was changed: restore the data directory from a "
                      "backup, see docs/operate/recovery.md",
                      sha256, directory),
          "blob " + sha256};
}

}  // namespace dove::store
