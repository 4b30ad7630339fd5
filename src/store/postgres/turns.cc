// Whose turn it is to lead: the rows of leader, controllers and handed.
#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "model/incarnation.h"
#include "store/postgres/lines.h"
#include "store/postgres/postgres_store.h"

namespace dove::store {
namespace {

#define DOVE_PG_SEEN_ANEW                                                                      \
  "ON CONFLICT (name) DO UPDATE SET url = excluded.url, version = excluded.version, folded = " \
  "excluded.folded, seen = excluded.seen"
constexpr std::string_view kLevelWord = " level ";
constexpr std::string_view kSaysWord = " says ";

// The column `version`: "0.2.0 level 2 says ...". Former versions say its first words alone, also
// of a row that a newer one of the same name has left; and they read no further.
struct Said {
  std::string version;
  std::int32_t level = kFirstLevel;
  std::string says;
};

std::string write_said(const std::string& version, std::string_view says) {
  std::string text = fmt::format("{}{}{}", version, kLevelWord, kProgramLevel);
  if (!says.empty()) fmt::format_to(std::back_inserter(text), "{}{}", kSaysWord, says);
  return text;
}

Said read_said(std::string_view text) {
  Said said;
  const std::size_t at = text.find(kLevelWord);
  said.version = text.substr(0, at);
  if (at == std::string_view::npos) return said;
  const std::string_view rest = text.substr(at + kLevelWord.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), said.level);
  const std::size_t says = rest.find(kSaysWord);
  if (says != std::string_view::npos) said.says = rest.substr(says + kSaysWord.size());
  return said;
}

}  // namespace

Result<LeaderSeen> leader_of(Connection& line, const std::string& own_name) {
  TRY_ASSIGN(
      const Rows rows,
      line.run("SELECT epoch, holder, url, greatest(0, (extract(epoch FROM greatest(until, "
               "(SELECT until FROM handed WHERE name <> $1)) - clock_timestamp()) * "
               "1000000)::bigint), coalesce((SELECT max(seq) FROM records), (SELECT number FROM "
               "meta WHERE key = 'anchor_seq')) FROM leader WHERE id = 1",
               Params().text(own_name)));
  if (rows.size() != 1) {
    return Error{ErrorKind::kCorrupt, "store_damaged", "the row of dove.leader is missing", ""};
  }
  return LeaderSeen{Epoch{rows.unsigned_integer(0, 0)}, std::string(rows.bytes(0, 1)),
                    std::string(rows.bytes(0, 2)), rows.integer(0, 3),
                    Seq{rows.unsigned_integer(0, 4)}};
}

Result<std::vector<ControllerSeen>> standbys_of(Connection& line, const std::string& own_name) {
  TRY_ASSIGN(const Rows rows,
             line.run("SELECT name, url, version, folded, (extract(epoch FROM clock_timestamp() - "
                      "seen) * 1000000)::bigint FROM controllers WHERE name <> $1 AND seen > "
                      "clock_timestamp() - interval '1 day' ORDER BY seen DESC LIMIT 100",
                      Params().text(own_name)));
  std::vector<ControllerSeen> all;
  for (int row = 0; row < rows.size(); ++row) {
    const Said said = read_said(rows.bytes(row, 2));
    all.push_back({std::string(rows.bytes(row, 0)), std::string(rows.bytes(row, 1)), said.version,
                   Seq{rows.unsigned_integer(row, 3)}, rows.integer(row, 4), said.level,
                   said.says});
  }
  return all;
}

Result<LeaderSeen> PostgresStore::leader() {
  TRY_ASSIGN(Lent line, lend_alive());
  return leader_of(*line, options_.name);
}

void PostgresStore::release(const std::string& to) {
  std::lock_guard lock(lease_mutex_);
  std::uint64_t epoch = 0;
  {
    std::lock_guard state_lock(state_mutex_);
    epoch = std::exchange(epoch_, Epoch{}).value;
  }
  if (epoch == 0) return;
  if (!open_lease_line().ok()) return;
  // In one statement: whoever sees the lease free sees for whom.
  const Result<Rows> freed = lease_line_->run(
      "WITH freed AS (UPDATE leader SET until = 'epoch' WHERE id = 1 AND epoch = $1 RETURNING id) "
      "UPDATE handed SET name = $2, until = CASE WHEN $2 = '' THEN 'epoch' ELSE clock_timestamp() "
      "+ $3 * interval '1 microsecond' END FROM freed WHERE handed.id = freed.id",
      Params().add(epoch).text(to).add(options_.lease_us));
  if (freed.ok()) (void)lease_line_->execute("NOTIFY dove_log");
}

namespace {

Result<void> drop_beyond(Connection& line, Seq head) {
  TRY(line.run("DELETE FROM snapshots WHERE seq > $1", Params().add(head.value)));
  TRY(line.run("UPDATE blobs SET seq = $1 WHERE seq > $1", Params().add(head.value)));
  TRY_ASSIGN(const Anchor anchor, LogTables(line).anchor());
  TRY_ASSIGN(const Rows left, line.run("SELECT count(*) FROM snapshots"));
  if (head && (!anchor.seq || left.integer(0, 0) > 0)) return {};
  return Error{ErrorKind::kInvalid, "restore_too_early",
               head ? "the log has lost its beginning, and every snapshot that is kept is of "
                      "records that are gone: restore the database from a backup"
                    : "there is nothing in this log",
               "--store"};
}

}  // namespace

Result<Seq> PostgresStore::begin_incarnation(std::int64_t now_s) {
  TRY_ASSIGN(Lent line, lend_alive());
  TRY_ASSIGN(PgTransaction transaction, PgTransaction::begin(*line, "BEGIN"));
  TRY_ASSIGN(const Rows held,
             line->run("SELECT epoch FROM leader WHERE id = 1 AND epoch = $1 FOR UPDATE",
                       Params().add(epoch().value)));
  if (held.size() != 1) {
    return Error{ErrorKind::kConflict, "epoch_stale", "another controller leads", ""};
  }
  TRY_ASSIGN(const PgHead stored, LogTables(*line).head());
  const Seq head = stored.head.seq;
  TRY(drop_beyond(*line, head));
  TRY_ASSIGN(const Rows newest, line->run("SELECT greatest((SELECT max(epoch) FROM epochs), "
                                          "(SELECT max(epoch) FROM batches))"));
  const Epoch term = restored_term(Epoch{newest.unsigned_integer(0, 0)}, now_s);
  const std::string holder = restored_holder(term);
  TRY(line->run("INSERT INTO epochs VALUES ($1, $2, $3)",
                Params().add(term.value).text(holder).add(head.value)));
  TRY(line->run("UPDATE leader SET epoch = $1, holder = $2, url = '', until = 'epoch' WHERE id = 1",
                Params().add(term.value).text(holder)));
  TRY(line->execute("NOTIFY dove_log"));
  TRY(transaction.commit());
  std::lock_guard lock(state_mutex_);
  epoch_ = Epoch{};
  return head;
}

// A leader does not say every second that it is there, and is to be known once it leads no more.
// The former one may be of a version that wrote no row: nobody knows that it reads more than the
// first level. It is not among those that are there until it says so.
Result<void> PostgresStore::note_leaders(Connection& line, Seq head) {
  TRY(
      line.run("INSERT INTO controllers SELECT holder, url, 'unknown', $2, CASE WHEN until > "
               "'epoch' THEN until ELSE clock_timestamp() END - interval '1 minute' FROM leader "
               "WHERE id = 1 AND url <> '' AND holder <> $1 ON CONFLICT (name) DO UPDATE SET "
               "folded = excluded.folded, seen = greatest(controllers.seen, excluded.seen)",
               Params().text(options_.name).add(head.value)));
  if (options_.leads_at.empty()) return {};  // no controller
  const std::string said = write_said(options_.version, "");
  TRY(line.run(
      "INSERT INTO controllers VALUES ($1, $2, $3, $4, clock_timestamp()) " DOVE_PG_SEEN_ANEW,
      Params().text(options_.name).text(options_.leads_at).text(said).add(head.value)));
  return {};
}

// It is written again every second, so it waits for no disk and for no second machine.
Result<void> PostgresStore::stands_by(Seq folded, const std::string& says) {
  const std::string said = write_said(options_.version, std::string_view(says).substr(0, kSaysMax));
  TRY_ASSIGN(Lent line, lend_alive());
  TRY(
      line->run("WITH quick AS (SELECT set_config('synchronous_commit', 'off', true)) "
                "INSERT INTO controllers SELECT $1, $2, $3, $4, clock_timestamp() FROM "
                "quick " DOVE_PG_SEEN_ANEW,
                Params().text(options_.name).text(options_.leads_at).text(said).add(folded.value)));
  return {};
}

Result<std::vector<ControllerSeen>> PostgresStore::standbys() {
  std::lock_guard lock(lease_mutex_);
  TRY(open_lease_line());
  return standbys_of(*lease_line_, options_.name);
}

}  // namespace dove::store
