#include "store/sqlite/cut.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "store/sqlite/connections.h"
#include "store/sqlite/log_reader.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/terms.h"

namespace dove::store {
namespace {

constexpr char kFile[] = "log.sqlite";
constexpr char kLastOf[] = "first_seq + events + decisions - 1";

struct Place {
  std::uint64_t batch = 0;
  std::uint64_t seq = 0;
  std::int64_t at_us = 0;
};

std::string time_text(std::int64_t at_us) {
  std::tm parts{};
  const std::time_t at = at_us / 1'000'000;
  gmtime_r(&at, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
}

Error too_early(std::uint64_t seq, std::int64_t at_us) {
  return Error{ErrorKind::kInvalid, "restore_too_early",
               fmt::format("what is kept of this log can be restored from record {} of {} on: name "
                           "a later point, or take an older backup",
                           seq, time_text(at_us)),
               "--at"};
}

// The row of `table` that is the last at or before `point`; none: all of them come after.
Result<std::optional<Place>> place_of(Database& database, const char* where, std::int64_t value) {
  TRY_ASSIGN(Statement row, database.prepare(fmt::format(
                                "SELECT batch, {0} AS last, at_us FROM batches WHERE {1} <= ? "
                                "ORDER BY batch DESC LIMIT 1",
                                kLastOf, where)));
  row.bind(1, value);
  TRY_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<Place>();
  return std::optional(Place{row.unsigned_integer(0), row.unsigned_integer(1), row.integer(2)});
}

Result<Place> find_place(Database& database, const CutPoint& point) {
  std::optional<Place> place;
  if (point.at) {
    TRY_ASSIGN(place, place_of(database, "at_us", point.at->us));
  } else {
    const auto seq = static_cast<std::int64_t>(point.seq.value_or(Seq{INT64_MAX}).value);
    TRY_ASSIGN(place, place_of(database, "last", seq));
  }
  TRY_ASSIGN(const Anchor anchor, read_anchor(database));
  // Without its beginning a log is folded from a snapshot on.
  TRY_ASSIGN(Statement first,
             database.prepare(anchor.seq.value > 0
                                  ? "SELECT seq, at_us FROM snapshots ORDER BY seq LIMIT 1"
                                  : "SELECT first_seq, at_us FROM batches ORDER BY batch LIMIT 1"));
  TRY_ASSIGN(const bool found, first.step());
  if (!found) {
    return Error{ErrorKind::kInvalid, "restore_too_early", "there is nothing in this log", "--at"};
  }
  const std::uint64_t begins = first.unsigned_integer(0);
  if (!place || place->seq < begins) return too_early(begins, first.integer(1));
  return *place;
}

Result<void> run_with(Database& database, const char* sql, std::uint64_t value) {
  TRY_ASSIGN(Statement statement, database.prepare(sql));
  statement.bind(1, value);
  return statement.run();
}

Result<CutFacts> cut(Database& database, const CutPoint& point, std::int64_t now_s) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(database, Transaction::Kind::kWrite));
  TRY_ASSIGN(const StoredHead before, read_head(database));
  TRY_ASSIGN(const Place place, find_place(database, point));
  TRY(run_with(database, "DELETE FROM records WHERE seq > ?", place.seq));
  TRY(run_with(database, "DELETE FROM batches WHERE batch > ?", place.batch));
  TRY(run_with(database, "DELETE FROM snapshots WHERE seq > ?", place.seq));
  // A blob is noted with the last record that named it; an earlier one may name it, too.
  TRY(run_with(database, "UPDATE blobs SET seq = ?1 WHERE seq > ?1", place.seq));
  TRY(begin_incarnation(database, Seq{place.seq}, now_s));
  TRY(transaction.commit());
  return CutFacts{Seq{place.seq}, Instant{place.at_us}, before.head.seq.value - place.seq};
}

}  // namespace

Result<CutFacts> cut_log(const std::string& directory, const CutPoint& point, std::int64_t now_s) {
  TRY_ASSIGN(const DataDirectory held, DataDirectory::hold(directory, kFile));
  TRY_ASSIGN(Database database, Database::open(directory + "/" + kFile, Database::Mode::kWrite));
  TRY(configure(database, true));
  TRY(check_schema(database));
  TRY_ASSIGN(const CutFacts facts, cut(database, point, now_s));
  // One whole file; how far the log had come before is no longer so.
  TRY(database.execute("UPDATE meta SET value = 0 WHERE key = 'in_use'"));
  TRY(database.execute("PRAGMA journal_mode = DELETE"));
  const bool removed = ::unlink((directory + "/head").c_str()) == 0 || errno == ENOENT;
  if (removed) return facts;
  return Error{ErrorKind::kInternal, "file_unwritable",
               fmt::format("{}/head cannot be removed: {}; mend that and say it again", directory,
                           std::strerror(errno)),
               directory};
}

}  // namespace dove::store
