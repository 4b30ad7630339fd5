#include "store/postgres/postgres_store.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "store/append_check.h"
#include "store/postgres/lines.h"
#include "store/postgres/schema.h"
#include "store/term_walk.h"

namespace dove::store {
namespace {

constexpr std::chrono::seconds kAppendPatience{10};
constexpr std::chrono::seconds kSlicePatience{10};
constexpr std::chrono::seconds kSoonPatience{1};

struct Prepared {
  const char* name;
  const char* sql;
};
constexpr Prepared kStatements[] = {
    {"begin", "BEGIN"},
    {"hold", "SELECT hold_epoch($1, $2)"},
    {"blob",
     "INSERT INTO blobs VALUES ($1, $2, $3) ON CONFLICT (sha256) DO UPDATE SET seq = excluded.seq, "
     "bytes = excluded.bytes"},
    {"notify", "NOTIFY dove_log"},
    {"commit", "COMMIT"},
};

}  // namespace

Result<void> prepare_rows(Connection& line) {
  TRY(line.prepare("batch", "INSERT INTO batches VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"));
  return line.prepare("record", "INSERT INTO records VALUES ($1, $2, $3, $4, $5, $6, $7, $8)");
}

Result<void> send_record(Connection& line, BatchNumber batch, const LinkedRecord& record) {
  return line.send("record", Params()
                                 .add(record.seq)
                                 .add(batch.value)
                                 .add(std::int64_t{record.is_decision})
                                 .text(record.columns.kind)
                                 .add(record.columns.job)
                                 .add(record.columns.node)
                                 .bytes(record.body)
                                 .bytes(record.chain));
}

Result<void> send_batch_row(Connection& line, const BatchHeader& header, const Sha256& chain) {
  return line.send("batch", Params()
                                .add(header.batch)
                                .add(header.epoch)
                                .add(header.at_us)
                                .add(header.first_seq)
                                .add(header.events)
                                .add(header.decisions)
                                .add(header.decisions_digest)
                                .add(header.state_hash)
                                .bytes(bytes_of(chain)));
}

// What libpq says of a URL that it cannot read may hold the password.
Result<void> check_store_url(const std::string& url) {
  const bool is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
  PQconninfoOption* read = is_url ? PQconninfoParse(url.c_str(), nullptr) : nullptr;
  PQconninfoFree(read);
  if (read != nullptr) return {};
  return Error{ErrorKind::kInvalid, "bad_store",
               "the store is no URL of PostgreSQL: write postgres://USER@HOST,HOST/DATABASE, with "
               "the password in the file that PGPASSFILE names",
               "store"};
}

PostgresStore::PostgresStore(PostgresOptions options) : options_(std::move(options)) {}

PostgresStore::~PostgresStore() { release(); }

Result<std::unique_ptr<PostgresStore>> PostgresStore::open(PostgresOptions options) {
  TRY(check_store_url(options.url));
  std::unique_ptr<PostgresStore> store(new PostgresStore(std::move(options)));
  TRY_ASSIGN(Lent line, store->lend());
  TRY(store->options_.only_reads ? check_schema(*line) : make_schema(*line));
  TRY_ASSIGN(const PgHead stored, LogTables(*line).head());
  store->head_ = stored.head;
  return store;
}

Result<PostgresStore::Lent> PostgresStore::lend() {
  {
    std::lock_guard lock(state_mutex_);
    if (!idle_.empty()) {
      auto line = std::move(idle_.back());
      idle_.pop_back();
      return Lent(*this, std::move(line));
    }
  }
  TRY_ASSIGN(Connection opened, Connection::open({options_.url, "dove reader", kReadPatience}));
  return Lent(*this, std::make_unique<Connection>(std::move(opened)));
}

// A connection may have been lost since it was used: then those that wait are dropped.
Result<PostgresStore::Lent> PostgresStore::lend_alive() {
  for (;;) {
    TRY_ASSIGN(Lent line, lend());
    line->be_patient(kLeasePatience);
    const bool is_alive = line->execute("SELECT 1").ok();
    line->be_patient(kReadPatience);
    if (is_alive) return line;
    std::lock_guard lock(state_mutex_);
    if (idle_.empty()) break;
    idle_.clear();
  }
  return lend();
}

Head PostgresStore::head() const {
  std::lock_guard lock(state_mutex_);
  return head_;
}

Result<void> PostgresStore::open_writer() {
  if (writer_ != nullptr && !writer_->connection.is_over()) return {};
  writer_.reset();
  TRY_ASSIGN(Connection opened, Connection::open({options_.url, kWriterName, kAppendPatience}));
  auto w = std::make_unique<Writer>(std::move(opened));
  for (const Prepared& one : kStatements) TRY(w->connection.prepare(one.name, one.sql));
  TRY(prepare_rows(w->connection));
  writer_ = std::move(w);
  return {};
}

// Nothing of a batch was sent, so it is not in doubt; whether another leads is asked with the
// batch.
Result<void> PostgresStore::reopen_writer() {
  if (!writer_->connection.has_ended()) return {};
  const Epoch newest = writer_->newest_epoch;
  const Sha256 chain = writer_->chain;
  TRY(open_writer());
  writer_->newest_epoch = newest;
  writer_->chain = chain;
  return {};
}

namespace {

Result<void> send_batch(Connection& line, Chain& hasher, Sha256& chain, const Batch& batch) {
  TRY(line.send("begin"));
  TRY(line.send("hold", Params().add(batch.epoch.value).add(batch.number.value - 1)));
  TRY(link_batch(hasher, chain, batch, [&](const LinkedRecord& record) {
    return send_record(line, batch.number, record);
  }));
  const BatchHeader header = header_of(batch);
  TRY(send_batch_row(line, header, chain));
  for (const auto& [sha256, bytes] : batch.blobs) {
    TRY(line.send("blob", Params().text(sha256).add(header.first_seq).bytes(bytes)));
  }
  TRY(line.send("notify"));
  return line.send("commit");
}

}  // namespace

Result<void> PostgresStore::append(Epoch epoch, Seq expected_head, const Batch& batch) {
  std::lock_guard lock(writer_mutex_);
  const Epoch newest = writer_ == nullptr ? Epoch{} : writer_->newest_epoch;
  TRY(check_append(head(), newest, epoch, expected_head, batch));
  TRY(reopen_writer());
  Connection& line = writer_->connection;
  TRY(line.begin_pipeline());
  Sha256 chain = writer_->chain;
  const Result<void> sent = send_batch(line, writer_->hasher, chain, batch);
  const Result<void> done = sent.ok() ? line.finish_pipeline() : sent;
  if (line.is_over()) return commit_unknown(done.error().message);
  if (!done.ok()) {
    TRY(line.execute("ROLLBACK"));
    return done;
  }
  if (const std::string warning = line.take_warning(); !warning.empty()) {
    return commit_unknown(warning);
  }
  writer_->chain = chain;
  std::lock_guard state_lock(state_mutex_);
  head_ = Head{last_seq(batch), batch.number, batch.epoch, batch.at, hex_of(chain)};
  know_chain(head_.seq, chain);
  return {};
}

std::optional<Sha256> PostgresStore::known_chain(Seq seq) const {
  std::lock_guard lock(state_mutex_);
  if (!seq || seq != known_to_) return std::nullopt;
  return known_chain_;
}

void PostgresStore::know_chain(Seq seq, const Sha256& chain) {
  if (seq <= known_to_) return;
  known_to_ = seq;
  known_chain_ = chain;
}

Result<void> PostgresStore::read(Seq after, const std::function<bool(const Batch&)>& visit) {
  TRY_ASSIGN(Lent line, lend_alive());
  line->be_patient(kSlicePatience);
  LogTables tables(*line);
  const Result<void> done = tables.read(after, known_chain(after), visit);
  line->be_patient(kReadPatience);
  std::lock_guard lock(state_mutex_);
  know_chain(tables.last_read(), tables.last_chain());
  return done;
}

// For whoever must not wait: a connection that was lost since it was used is tried anew, once.
Result<Rows> PostgresStore::ask_soon(const char* sql, const Params& params) {
  for (bool last = false;; last = true) {
    TRY_ASSIGN(Lent line, lend());
    line->be_patient(kSoonPatience);
    Result<Rows> rows = line->run(sql, params);
    line->be_patient(kReadPatience);
    if (rows.ok() || last || !line->is_over()) return rows;
    std::lock_guard lock(state_mutex_);
    idle_.clear();
  }
}

Result<std::optional<std::string>> PostgresStore::blob(const std::string& sha256) {
  TRY_ASSIGN(const Rows rows,
             ask_soon("SELECT bytes FROM blobs WHERE sha256 = $1", Params().text(sha256)));
  if (rows.size() == 0) return std::optional<std::string>();
  std::string bytes(rows.bytes(0, 0));
  if (hex_of(Chain().of(bytes)) != sha256) return pg_blob_damaged(sha256);
  return std::optional<std::string>(std::move(bytes));
}

Result<std::optional<std::string>> PostgresStore::chain_at(Seq seq) {
  TRY_ASSIGN(const Rows rows,
             ask_soon("SELECT chain FROM records WHERE seq = $1", Params().add(seq.value)));
  if (rows.size() == 0) return std::optional<std::string>();
  return std::optional(hex_of(sha256_from(rows.bytes(0, 0))));
}

// -- terms ---------------------------------------------------------------------------------------

namespace {

Error lease_held(std::string_view holder, std::int64_t left_us) {
  return {ErrorKind::kConflict, "lease_held",
          fmt::format("{} leads; its lease lasts for another {} ms unless it is renewed", holder,
                      left_us / 1000),
          ""};
}

// `newest`: of the leader's row.
Result<void> check_terms(Connection& line, Epoch newest, Epoch of_head) {
  TRY_ASSIGN(const Rows rows, line.run("SELECT epoch, holder FROM epochs ORDER BY epoch"));
  TermWalk terms;
  bool goes_on = true;
  for (int row = 0; row < rows.size() && goes_on; ++row) {
    goes_on = terms.take(Epoch{rows.unsigned_integer(row, 0)}, rows.bytes(row, 1));
  }
  const Epoch last = terms.newest();
  if (goes_on && last == newest && last >= of_head) return {};
  return Error{ErrorKind::kCorrupt, "store_damaged",
               fmt::format("dove.epochs does not go on after term {}, or dove.leader is of another "
                           "term: restore the database from a backup, see "
                           "docs/operate/recovery.md",
                           last.value),
               ""};
}

}  // namespace

Result<Epoch> PostgresStore::begin_epoch(const std::string& holder) {
  std::lock_guard lock(writer_mutex_);
  // A standby that waits for its turn must not hold up the leader's appends by a lock.
  TRY_ASSIGN(const LeaderSeen now, leader());
  if (now.left_us > 0 && now.epoch != epoch()) return lease_held(now.holder, now.left_us);
  TRY(open_writer());
  Result<Epoch> begun = take_lease(holder);
  if (begun.ok() || begun.error().code != kRowHeld) return begun;
  const OtherHolders others = end_other_holders();
  if (others.ended) begun = take_lease(holder);
  if (begun.ok() || others.left.empty()) return begun;
  Error error = begun.error();
  error.message += "; the row of the leader is held by " + others.left;
  return error;
}

Result<Epoch> PostgresStore::take_lease(const std::string& holder) {
  Connection& line = writer_->connection;
  TRY_ASSIGN(PgTransaction transaction, PgTransaction::begin(line, "BEGIN"));
  TRY(line.execute(fmt::format("SET LOCAL lock_timeout = {}", kRowPatience.count()).c_str()));
  TRY_ASSIGN(
      const Rows found,
      line.run("SELECT epoch, holder, (extract(epoch FROM greatest(until, (SELECT until FROM "
               "handed WHERE name <> $1)) - clock_timestamp()) * 1000000)::bigint FROM leader "
               "WHERE id = 1 FOR UPDATE",
               Params().text(options_.name)));
  const std::uint64_t newest = found.unsigned_integer(0, 0);
  const bool is_ours = newest == writer_->newest_epoch.value && newest > 0;
  if (!is_ours && found.integer(0, 2) > 0) {
    return lease_held(found.bytes(0, 1), found.integer(0, 2));
  }
  const Epoch epoch{newest + 1};
  TRY_ASSIGN(const PgHead stored, LogTables(line).head());
  TRY(check_terms(line, Epoch{newest}, stored.head.epoch));
  TRY(line.run("INSERT INTO epochs VALUES ($1, $2, $3)",
               Params().add(epoch.value).text(holder).add(stored.head.seq.value)));
  TRY(note_leaders(line, stored.head.seq));
  TRY(line.run(
      "UPDATE leader SET epoch = $1, holder = $2, url = $3, "
      "until = clock_timestamp() + $4 * interval '1 microsecond'",
      Params().add(epoch.value).text(holder).text(options_.leads_at).add(options_.lease_us)));
  TRY(line.execute("UPDATE handed SET name = '', until = 'epoch' WHERE until <> 'epoch'"));
  TRY(line.execute("NOTIFY dove_log"));
  TRY(transaction.commit());
  writer_->newest_epoch = epoch;
  writer_->chain = stored.chain;
  std::lock_guard state_lock(state_mutex_);
  head_ = stored.head;
  epoch_ = epoch;
  return epoch;
}

PostgresStore::OtherHolders PostgresStore::end_other_holders() {
  const Result<LeaderSeen> seen = leader();
  if (!seen.ok() || seen->left_us > 0) return {};
  Result<Lent> line = lend_alive();
  if (!line.ok()) return {};
  // By the lock, and not by what the session is for: appends hold it, and so do snapshots and
  // retention. A session that waits for the lock, or for the second machine to have its commit, is
  // not a former leader's.
  const Result<Rows> held = (*line)->run(
      "SELECT application_name, state, coalesce(wait_event, 'nothing'), "
      "(CASE WHEN wait_event_type = 'Client' OR state LIKE 'idle in transaction%' THEN "
      "pg_terminate_backend(pid) ELSE false END)::int::bigint FROM pg_stat_activity WHERE "
      "usename = current_user AND pid IN (SELECT pid FROM pg_locks WHERE relation = "
      "'dove.leader'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = "
      "current_database()) AND granted AND mode IN ('RowShareLock', 'RowExclusiveLock')) AND "
      "xact_start < clock_timestamp() - $1 * interval '1 millisecond' AND "
      "wait_event_type IS DISTINCT FROM 'Lock'",
      Params().add(kOldTransaction.count()));
  OtherHolders others;
  for (int row = 0; held.ok() && row < held->size(); ++row) {
    if (held->integer(row, 3) != 0) {
      others.ended = true;
      continue;
    }
    others.left += fmt::format("{}{} ({}, waits for {})", others.left.empty() ? "" : ", ",
                               held->bytes(row, 0), held->bytes(row, 1), held->bytes(row, 2));
  }
  return others;
}

Result<void> PostgresStore::open_lease_line() {
  if (lease_line_ != nullptr && !lease_line_->is_over()) return {};
  lease_line_.reset();
  TRY_ASSIGN(Connection opened, Connection::open({options_.url, "dove lease", kLeasePatience}));
  lease_line_ = std::make_unique<Connection>(std::move(opened));
  return {};
}

Result<bool> PostgresStore::renew() {
  std::lock_guard lock(lease_mutex_);
  const std::uint64_t epoch = this->epoch().value;
  TRY(open_lease_line());
  lease_line_->take_warning();
  TRY_ASSIGN(const Rows rows,
             lease_line_->run("UPDATE leader SET until = clock_timestamp() + $2 * interval "
                              "'1 microsecond' WHERE id = 1 AND epoch = $1 RETURNING epoch",
                              Params().add(epoch).add(options_.lease_us)));
  if (const std::string warning = lease_line_->take_warning(); !warning.empty()) {
    return commit_unknown(warning);
  }
  return rows.size() == 1;
}

Result<std::string> PostgresStore::agreed_keys(const std::string& mine) {
  TRY_ASSIGN(Lent line, lend_alive());
  if (!mine.empty()) {
    TRY(line->run("INSERT INTO meta VALUES ('keys', NULL, $1) ON CONFLICT (key) DO NOTHING",
                  Params().bytes(mine)));
  }
  TRY_ASSIGN(const Rows rows, line->run("SELECT bytes FROM meta WHERE key = 'keys'"));
  return rows.size() == 0 ? std::string() : std::string(rows.bytes(0, 0));
}

void PostgresStore::wait_for_news(std::chrono::milliseconds at_most, int wakes) {
  if (news_ == nullptr || news_->is_over()) {
    Result<Connection> opened = Connection::open({options_.url, "dove standby", kReadPatience});
    if (opened.ok() && opened->execute("LISTEN dove_log").ok()) {
      news_ = std::make_unique<Connection>(std::move(opened).value());
      return;  // what came before it listened is news, too
    }
    pollfd woken{wakes, POLLIN, 0};
    ::poll(&woken, wakes < 0 ? 0 : 1, static_cast<int>(at_most.count()));
    return;
  }
  (void)news_->wait_notified(at_most, wakes);
}

Result<std::optional<std::string>> PostgresStore::can_be_lost() {
  std::lock_guard lock(lease_mutex_);
  TRY(open_lease_line());
  TRY_ASSIGN(const Rows rows,
             lease_line_->run("SELECT current_setting('fsync') = 'off', "
                              "current_setting('synchronous_standby_names') = ''"));
  if (rows.integer(0, 0) != 0) {
    return std::optional<std::string>(
        "PostgreSQL runs with fsync=off: a power cut loses what was acknowledged");
  }
  if (rows.integer(0, 1) != 0) {
    return std::optional<std::string>(
        "PostgreSQL has no synchronous standby: what was acknowledged in the last moments is lost "
        "with its machine");
  }
  return std::optional<std::string>();
}

Result<std::optional<std::string>> PostgresStore::open_to() {
  TRY_ASSIGN(Lent line, lend());
  const LineSafety safety = line->safety();
  return safety.is_open() ? std::optional(safety.address) : std::nullopt;
}

}  // namespace dove::store
