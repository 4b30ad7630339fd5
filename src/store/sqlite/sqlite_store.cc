#include "store/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "store/append_check.h"
#include "store/chain/links.h"
#include "store/sqlite/connections.h"
#include "store/sqlite/log_reader.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/terms.h"

namespace dove::store {
namespace {

constexpr char kFile[] = "log.sqlite";
constexpr std::int64_t kPageBytes = 4096;

// In the main file, and so in every copy of it.
constexpr char kInUse[] = "SELECT value FROM meta WHERE key = 'in_use'";

Result<void> say_in_use(Database& database, bool in_use) {
  return database.execute(in_use ? "INSERT OR REPLACE INTO meta VALUES ('in_use', 1);"
                                   "PRAGMA wal_checkpoint(PASSIVE)"
                                 : "INSERT OR REPLACE INTO meta VALUES ('in_use', 0)");
}

// A database in which nothing was written yet has no bytes.
bool was_used(const std::string& path) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path, failed);
  return !failed && bytes > 0;
}

Error shared_log(const std::string& directory) {
  return {ErrorKind::kConflict, "shared_log",
          fmt::format(
              "the log of {} lies in PostgreSQL: start the server with --store URL; check it "
              "with `dove replay --store URL`; back it up with `dove backup --store URL`; after "
              "records were lost, `dove restore --in-place --store URL` (docs/operate/standby.md)",
              directory),
          directory};
}

Error snapshot_missing(Seq newest, Seq dropped, const std::string& directory) {
  return {ErrorKind::kCorrupt, "snapshot_missing",
          fmt::format("records up to {} were dropped, but the newest snapshot in {}/log.sqlite is "
                      "of record {}: restore the data directory from a backup",
                      dropped.value, directory, newest.value),
          directory};
}

Error read_only_error() {
  return {ErrorKind::kDenied, "read_only", "the log was opened for reading only", ""};
}

}  // namespace

SqliteStore::SqliteStore(std::string directory) : directory_(std::move(directory)) {}

// The last connection to be closed moves everything into the one file.
SqliteStore::~SqliteStore() {
  if (writer_ != nullptr && writer_->in_order) (void)say_in_use(writer_->database, false);
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& directory, OpenMode mode,
                                                       const SqliteOptions& options) {
  static const bool ignored = std::signal(SIGXFSZ, SIG_IGN) != SIG_ERR;
  (void)ignored;
  std::error_code failed;
  if (std::filesystem::exists(directory + "/" + kSharedLogMark, failed))
    return shared_log(directory);
  std::unique_ptr<SqliteStore> store(new SqliteStore(directory));
  switch (mode) {
    case OpenMode::kWrite:
      TRY(store->open_for_writing(options));
      break;
    case OpenMode::kReadOnly:
      TRY(store->open_for_reading());
      break;
  }
  if (options.verifies_tail) TRY(store->verify_tail());
  return store;
}

Result<void> SqliteStore::open_for_writing(const SqliteOptions& options) {
  TRY_ASSIGN(DataDirectory held, DataDirectory::hold(directory_, kFile));
  auto w = std::make_unique<Writer>(std::move(held));
  const std::string path = directory_ + "/" + kFile;
  std::error_code failed;
  const bool is_alone = was_used(path) && !std::filesystem::exists(path + "-wal", failed);
  TRY_ASSIGN(w->database, Database::open(path, Database::Mode::kWrite));
  TRY(configure(w->database, true));
  TRY_ASSIGN(const bool is_new, create_schema(w->database));
  TRY_ASSIGN(const auto in_use, w->database.number(kInUse));
  const bool lacks_rest = is_alone && (is_new || in_use.value_or(0) != 0);
  if (options.size_max_bytes > 0) {
    const auto pages = std::max<std::int64_t>(options.size_max_bytes / kPageBytes, 16);
    TRY(w->database.execute(fmt::format("PRAGMA max_page_count = {}", pages).c_str()));
  }
  TRY_ASSIGN(w->insert_batch,
             w->database.prepare("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  TRY_ASSIGN(w->insert_record,
             w->database.prepare("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  TRY_ASSIGN(w->upsert_blob, w->database.prepare("INSERT INTO blobs VALUES (?, ?, ?) ON "
                                                 "CONFLICT DO UPDATE SET seq = excluded.seq, "
                                                 "bytes = excluded.bytes"));
  // What a former process could not sync may be in the system's memory alone, as good as written to
  // whoever reads it: it is written again, and synced.
  const Result<void> synced = w->database.execute("PRAGMA wal_checkpoint(PASSIVE)");
  if (!synced.ok() && synced.error().kind != ErrorKind::kExhausted) return synced.error();
  w->reserve.open(path);
  TRY_ASSIGN(const StoredHead stored, read_head(w->database));
  TRY_ASSIGN(w->head_file, HeadFile::open(directory_, stored.head.seq, lacks_rest));
  TRY_ASSIGN(w->newest_epoch, newest_term(w->database, stored.head.epoch, directory_));
  if (in_use.value_or(0) == 0) TRY(say_in_use(w->database, true));
  w->in_order = true;
  w->chain = stored.chain;
  head_ = stored.head;
  writer_ = std::move(w);
  return {};
}

Result<void> SqliteStore::open_for_reading() {
  std::error_code failed;
  const std::string path = directory_ + "/" + kFile;
  if (!std::filesystem::exists(path, failed)) {
    return Error{ErrorKind::kNotFound, "data_missing",
                 fmt::format("{} does not exist{}: name the data directory of a server (--data)",
                             path, failed ? " or may not be read" : ""),
                 directory_};
  }
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY(check_schema(reader.database()));
  TRY_ASSIGN(const StoredHead stored, read_head(reader.database()));
  head_ = stored.head;
  return {};
}

Result<void> SqliteStore::verify_tail() {
  for (std::optional<Seq> former;;) {
    Seq from;
    Seq anchor;
    {
      TRY_ASSIGN(ReaderLease reader, lease_reader());
      TRY_ASSIGN(const Anchor read, read_anchor(reader.database()));
      TRY_ASSIGN(const auto covered, reader.database().number("SELECT max(seq) FROM snapshots"));
      anchor = read.seq;
      from = covered ? Seq{static_cast<std::uint64_t>(*covered)} : anchor;
    }
    const Result<void> done = read(from, [](const Batch&) { return true; });
    if (done.ok() || done.error().code != "records_forgotten") return done;
    // Whoever looks at the log of a running server: retention came between. It did not where the
    // log begins where it did before.
    if (former == anchor) return snapshot_missing(from, anchor, directory_);
    former = anchor;
  }
}

Result<SqliteStore::ReaderLease> SqliteStore::lease_reader() {
  {
    std::lock_guard lock(state_mutex_);
    if (!idle_readers_.empty()) {
      auto reader = std::move(idle_readers_.back());
      idle_readers_.pop_back();
      return ReaderLease(*this, std::move(reader));
    }
  }
  auto reader = std::make_unique<Reader>();
  TRY_ASSIGN(reader->database, Database::open(directory_ + "/" + kFile, Database::Mode::kRead));
  TRY(configure(reader->database, false));
  return ReaderLease(*this, std::move(reader));
}

Result<SqliteStore::Writer*> SqliteStore::writer() {
  if (writer_ == nullptr) return read_only_error();
  return writer_.get();
}

Head SqliteStore::head() const {
  std::lock_guard lock(state_mutex_);
  return head_;
}

Result<void> insert_record(Statement& insert, BatchNumber batch, const LinkedRecord& record) {
  insert.bind(1, record.seq);
  insert.bind(2, batch.value);
  insert.bind(3, std::int64_t{record.is_decision});
  insert.bind_text(4, record.columns.kind);
  insert.bind(5, record.columns.job);
  insert.bind(6, record.columns.node);
  insert.bind_blob(7, record.body);
  insert.bind_blob(8, record.chain);
  return insert.run();
}

Result<void> insert_batch_row(Statement& insert, const BatchHeader& header, const Sha256& chain) {
  insert.bind(1, header.batch);
  insert.bind(2, header.epoch);
  insert.bind(3, header.at_us);
  insert.bind(4, header.first_seq);
  insert.bind(5, header.events);
  insert.bind(6, header.decisions);
  insert.bind(7, header.decisions_digest);
  insert.bind(8, header.state_hash);
  insert.bind_blob(9, bytes_of(chain));
  return insert.run();
}

Result<void> insert_blobs(Statement& upsert, const Batch& batch) {
  for (const auto& [sha256, bytes] : batch.blobs) {
    upsert.bind_text(1, sha256);
    upsert.bind(2, batch.first_seq.value);
    upsert.bind_blob(3, bytes);
    TRY(upsert.run());
  }
  return {};
}

namespace {

// What was written and could not be synced may be lost, and may be there at the next start.
Error commit_error(const Error& error) {
  if (error.kind != ErrorKind::kInternal) return error;
  return {ErrorKind::kUnavailable, "commit_unknown",
          fmt::format("whether this was written is not known ({}); try again with the same "
                      "Idempotency-Key",
                      error.message),
          error.field};
}

}  // namespace

Result<void> SqliteStore::append(Epoch epoch, Seq expected_head, const Batch& batch) {
  std::lock_guard lock(writer_mutex_);
  TRY_ASSIGN(Writer * w, writer());
  TRY(check_append(head(), w->newest_epoch, epoch, expected_head, batch));
  Sha256 chain = w->chain;
  TRY_ASSIGN(Transaction transaction, Transaction::begin(w->database, Transaction::Kind::kWrite));
  TRY(link_batch(w->hasher, chain, batch, [&](const LinkedRecord& record) {
    return insert_record(w->insert_record, batch.number, record);
  }));
  TRY(insert_batch_row(w->insert_batch, header_of(batch), chain));
  TRY(insert_blobs(w->upsert_blob, batch));
  if (const Result<void> done = transaction.commit(); !done.ok()) return commit_error(done.error());
  w->reserve.keep();
  w->head_file.keep(last_seq(batch));
  w->chain = chain;
  std::lock_guard state_lock(state_mutex_);
  head_ = Head{last_seq(batch), batch.number, batch.epoch, batch.at, hex_of(chain)};
  return {};
}

Result<void> SqliteStore::read(Seq after, const std::function<bool(const Batch&)>& visit) {
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  return LogReader(reader.database()).read(after, visit);
}

Result<std::optional<std::string>> SqliteStore::blob(const std::string& sha256) {
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(Statement row, reader.database().prepare("SELECT bytes FROM blobs WHERE sha256 = ?"));
  row.bind_text(1, sha256);
  TRY_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<std::string>();
  std::string bytes(row.bytes(0));
  if (hex_of(Chain().of(bytes)) != sha256) {
    return blob_damaged(sha256, directory_);
  }
  return std::optional<std::string>(std::move(bytes));
}

Result<std::optional<std::string>> SqliteStore::chain_at(Seq seq) {
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(Statement row, reader.database().prepare("SELECT chain FROM records WHERE seq = ?"));
  row.bind(1, seq.value);
  TRY_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<std::string>();
  return std::optional(hex_of(sha256_from(row.bytes(0))));
}

}  // namespace dove::store
