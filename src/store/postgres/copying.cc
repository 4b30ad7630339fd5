// A log in PostgreSQL for whoever keeps a copy of it: PostgresStore as LogSource, and LogView.
#include <chrono>
#include <cstdint>
#include <utility>

#include "store/chain/log_page.h"
#include "store/postgres/lines.h"
#include "store/postgres/log_view.h"
#include "store/postgres/schema.h"

namespace dove::store {
namespace {

constexpr std::chrono::seconds kPiecePatience{10};  // whoever ends a server waits for a piece
constexpr std::uint64_t kBlobsAtOnce = 256;
constexpr std::uint64_t kBlobBytesAtOnce = 4 << 20;  // one more may come

// REQUIRES: a transaction that shows one instant.
Result<std::string> page_of(Connection& line, Seq after, Epoch term, std::size_t bytes_max) {
  TRY_ASSIGN(LogPage page, LogTables(line).page(after, bytes_max));
  TRY_ASSIGN(const Rows rows, line.run("SELECT epoch, holder, after_seq FROM epochs "
                                       "WHERE epoch > $1 ORDER BY epoch",
                                       Params().add(term.value)));
  for (int i = 0; i < rows.size(); ++i) {
    page.terms.push_back({Epoch{rows.unsigned_integer(i, 0)}, std::string(rows.bytes(i, 1)),
                          Seq{rows.unsigned_integer(i, 2)}});
  }
  return encode(page);
}

Result<std::string> page_in_one_view(Connection& line, Seq after, Epoch term,
                                     std::size_t bytes_max) {
  TRY_ASSIGN(const PgTransaction view, PgTransaction::begin(line, kPgOneView));
  return page_of(line, after, term, bytes_max);
}

}  // namespace

Result<std::string> PostgresStore::page(Seq after, Epoch term, std::size_t bytes_max) {
  TRY_ASSIGN(Lent line, lend_alive());
  line->be_patient(kPiecePatience);
  Result<std::string> page = page_in_one_view(*line, after, term, bytes_max);
  line->be_patient(kReadPatience);
  return page;
}

Result<std::string> PostgresStore::snapshot_piece(Seq of, std::uint64_t offset,
                                                  std::size_t bytes_max) {
  TRY_ASSIGN(Lent line, lend_alive());
  line->be_patient(kPiecePatience);
  Result<Rows> found = line->run(
      "SELECT seq, batch, epoch, at_us, chain, state_hash, sha256, octet_length(bytes)::bigint, "
      "substr(bytes, (least($1, 2147483646) + 1)::int, $2::int) FROM snapshots WHERE $3 IN (0, "
      "seq) "
      "ORDER BY seq DESC LIMIT 1",
      Params().add(offset).add(std::uint64_t{bytes_max}).add(of.value));
  line->be_patient(kReadPatience);
  TRY_ASSIGN(const Rows rows, std::move(found));
  if (rows.size() == 0) {
    return Error{ErrorKind::kNotFound, "snapshot_gone",
                 "there is no such snapshot any more; ask for the newest one", ""};
  }
  SnapshotPiece piece;
  piece.head = {Seq{rows.unsigned_integer(0, 0)}, BatchNumber{rows.unsigned_integer(0, 1)},
                Epoch{rows.unsigned_integer(0, 2)}, Instant{rows.integer(0, 3)},
                hex_of(sha256_from(rows.bytes(0, 4)))};
  piece.state_hash = rows.unsigned_integer(0, 5);
  piece.sha256 = rows.bytes(0, 6);
  piece.bytes_total = rows.unsigned_integer(0, 7);
  piece.bytes = rows.bytes(0, 8);
  return encode(piece);
}

Result<std::unique_ptr<LogView>> LogView::open(const std::string& url) {
  TRY(check_store_url(url));
  TRY_ASSIGN(Connection opened, Connection::open({url, "dove backup", kReadPatience}));
  std::unique_ptr<LogView> made(new LogView(std::move(opened)));
  TRY(check_schema(made->connection_));
  TRY_ASSIGN(PgTransaction view, PgTransaction::begin(made->connection_, kPgOneView));
  made->view_.emplace(std::move(view));
  return made;
}

Result<Seq> LogView::forgotten_through() {
  TRY_ASSIGN(const Anchor anchor, LogTables(connection_).anchor());
  return anchor.seq;
}

Result<std::string> LogView::page(Seq after, Epoch term, std::size_t bytes_max) {
  return page_of(connection_, after, term, bytes_max);
}

Result<void> LogView::each_snapshot(const std::function<Result<void>(const Snapshot&)>& visit) {
  for (Seq after;;) {
    TRY_ASSIGN(const Rows rows,
               connection_.run("SELECT " DOVE_PG_SNAPSHOT_COLUMNS
                               " FROM snapshots WHERE seq > $1 ORDER BY seq LIMIT 1",
                               Params().add(after.value)));
    if (rows.size() == 0) return {};
    TRY_ASSIGN(const Snapshot snapshot, pg_snapshot_at(rows, 0));
    TRY(visit(snapshot));
    after = snapshot.head.seq;
  }
}

Result<void> LogView::each_blob(
    const std::function<Result<void>(std::string_view, Seq, std::string_view)>& visit) {
  for (std::string after;;) {
    TRY_ASSIGN(
        const Rows rows,
        connection_.run("SELECT sha256, seq, bytes FROM (SELECT *, sum(octet_length(bytes)) OVER "
                        "(ORDER BY sha256) - octet_length(bytes) AS before FROM (SELECT * FROM "
                        "blobs WHERE sha256 > $1 ORDER BY sha256 LIMIT $2) AS piece) AS next WHERE "
                        "before < $3 ORDER BY sha256",
                        Params().text(after).add(kBlobsAtOnce).add(kBlobBytesAtOnce)));
    if (rows.size() == 0) return {};
    for (int i = 0; i < rows.size(); ++i) {
      TRY(visit(rows.bytes(i, 0), Seq{rows.unsigned_integer(i, 1)}, rows.bytes(i, 2)));
    }
    after = rows.bytes(rows.size() - 1, 0);
  }
}

}  // namespace dove::store
