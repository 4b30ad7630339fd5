#include "store/postgres/new_log.h"

#include <fmt/format.h>

#include <utility>

#include "store/postgres/lines.h"

namespace dove::store {
namespace {

constexpr char kBlob[] = "blob";

Error epoch_stale() {
  return {ErrorKind::kConflict, "epoch_stale", "another controller leads", ""};
}

// What no controller has begun with has the rows of schema.cc alone. A term without a record is of
// a fill that was broken off.
Result<void> check_empty(Connection& line) {
  TRY_ASSIGN(const Rows rows,
             line.run("SELECT EXISTS (SELECT FROM batches) OR EXISTS (SELECT FROM records) OR "
                      "EXISTS (SELECT FROM snapshots) OR EXISTS (SELECT FROM blobs) OR "
                      "EXISTS (SELECT FROM meta WHERE key NOT IN ('schema_version', 'anchor_seq', "
                      "'anchor_batch', 'anchor_chain') OR (key = 'anchor_seq' AND number > 0))"));
  if (rows.integer(0, 0) == 0) return {};
  return store_not_empty();
}

Result<void> set_anchor(Connection& line, const Anchor& anchor) {
  TRY(line.run("UPDATE meta SET number = $1 WHERE key = 'anchor_seq'",
               Params().add(anchor.seq.value)));
  TRY(line.run("UPDATE meta SET number = $1 WHERE key = 'anchor_batch'",
               Params().add(anchor.batch.value)));
  TRY(line.run("UPDATE meta SET bytes = $1 WHERE key = 'anchor_chain'",
               Params().bytes(bytes_of(anchor.chain))));
  return {};
}

Result<void> send_rows(Connection& line, const LogPage& page) {
  for (const PagedBatch& batch : page.batches) {
    TRY(each_record(batch, [&](const LinkedRecord& record) {
      return send_record(line, BatchNumber{batch.header.batch}, record);
    }));
    TRY(send_batch_row(line, batch.header, sha256_from(batch.chain)));
  }
  return {};
}

}  // namespace

Error store_not_empty() {
  return Error{ErrorKind::kConflict, "store_not_empty",
               "this database holds a log already, which stays as it is: name another database, or "
               "stop all its controllers and drop that log for good (DROP SCHEMA dove CASCADE)",
               "--store"};
}

NewLog::NewLog(Connection opened, Epoch term) : connection_(std::move(opened)), term_(term) {}

Result<std::unique_ptr<NewLog>> NewLog::begin(const std::string& url, Epoch term) {
  TRY_ASSIGN(Connection opened, Connection::open({url, "dove restore", kReadPatience}));
  std::unique_ptr<NewLog> made(new NewLog(std::move(opened), term));
  Connection& line = made->connection_;
  TRY(prepare_rows(line));
  TRY(line.prepare(kBlob, "INSERT INTO blobs VALUES ($1, $2, $3)"));
  TRY_ASSIGN(PgTransaction transaction, PgTransaction::begin(line, "BEGIN"));
  made->transaction_.emplace(std::move(transaction));
  // As an append does: nobody's next term begins meanwhile.
  TRY_ASSIGN(const Rows held,
             line.run("SELECT epoch FROM leader WHERE id = 1 AND epoch = $1 FOR KEY SHARE",
                      Params().add(term.value)));
  if (held.size() != 1) return epoch_stale();
  TRY(check_empty(line));
  TRY(line.execute("DELETE FROM epochs"));
  return made;
}

Result<void> NewLog::take(const LogPage& page) {
  const bool continues =
      !end_ || (page.before.seq == end_->seq && page.before.chain == end_->chain);
  if (!continues) {
    return Error{ErrorKind::kConflict, "log_differs",
                 fmt::format("the rows after record {} do not continue it", end_->seq.value), ""};
  }
  if (!end_) TRY(set_anchor(connection_, page.before));
  end_ = page.before;
  for (const PagedTerm& term : page.terms) {
    TRY(connection_.run("INSERT INTO epochs VALUES ($1, $2, $3)",
                        Params().add(term.epoch.value).text(term.holder).add(term.after.value)));
    newest_ = term;
  }
  if (page.batches.empty()) return {};
  TRY(connection_.begin_pipeline());
  const Result<void> sent = send_rows(connection_, page);
  TRY(connection_.finish_pipeline());
  TRY(sent);
  const PagedBatch& last = page.batches.back();
  end_ = {last_seq(last.header), BatchNumber{last.header.batch}, sha256_from(last.chain)};
  return {};
}

Result<void> NewLog::take_snapshot(const Snapshot& snapshot) {
  const Sha256 digest = Chain().of(snapshot.bytes);
  TRY(connection_.run(
      "INSERT INTO snapshots VALUES ($1, $2, $3, $4, decode($5, 'hex'), $6, $7, $8)",
      Params()
          .add(snapshot.head.seq.value)
          .add(snapshot.head.batch.value)
          .add(snapshot.head.epoch.value)
          .add(snapshot.head.at.us)
          .text(snapshot.head.chain_sha256)
          .add(snapshot.state_hash)
          .bytes(bytes_of(digest))
          .bytes(snapshot.bytes)));
  return {};
}

Result<void> NewLog::take_blob(std::string_view sha256, Seq seq, std::string_view bytes) {
  TRY(connection_.begin_pipeline());
  const Result<void> sent =
      connection_.send(kBlob, Params().text(sha256).add(seq.value).bytes(bytes));
  TRY(connection_.finish_pipeline());
  return sent;
}

Result<void> NewLog::commit() {
  TRY_ASSIGN(
      const Rows ours,
      connection_.run("UPDATE leader SET epoch = $1, holder = $2, url = '', until = 'epoch' "
                      "WHERE id = 1 AND epoch = $3 RETURNING epoch",
                      Params().add(newest_.epoch.value).text(newest_.holder).add(term_.value)));
  if (ours.size() != 1) return epoch_stale();
  TRY(connection_.execute("NOTIFY dove_log"));
  return transaction_->commit();
}

}  // namespace dove::store
