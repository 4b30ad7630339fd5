#include "store/sqlite/terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/incarnation.h"
#include "store/term_walk.h"

namespace dove::store {
namespace {

Error damaged(const std::string& directory, std::uint64_t term) {
  return Error{ErrorKind::kCorrupt, "data_damaged",
               fmt::format("{}/log.sqlite: table epochs does not go on after term {}: restore the "
                           "data directory from a backup, see docs/operate/recovery.md",
                           directory, term),
               directory};
}

}  // namespace

Result<Epoch> newest_term(Database& database, Epoch of_head, const std::string& directory) {
  TRY_ASSIGN(Statement rows, database.prepare("SELECT epoch, holder FROM epochs ORDER BY epoch"));
  TermWalk terms;
  for (;;) {
    TRY_ASSIGN(const bool row, rows.step());
    if (!row) break;
    if (!terms.take(Epoch{rows.unsigned_integer(0)}, rows.bytes(1))) {
      return damaged(directory, terms.newest().value);
    }
  }
  if (terms.newest() < of_head) return damaged(directory, terms.newest().value);
  return terms.newest();
}

Result<void> begin_incarnation(Database& database, Seq head, std::int64_t now_s) {
  TRY_ASSIGN(const auto newest,
             database.number("SELECT max(epoch) FROM (SELECT epoch FROM epochs UNION ALL "
                             "SELECT max(epoch) FROM batches)"));
  const Epoch term = restored_term(Epoch{static_cast<std::uint64_t>(newest.value_or(0))}, now_s);
  const std::string holder = restored_holder(term);
  TRY_ASSIGN(Statement insert, database.prepare("INSERT INTO epochs VALUES (?, ?, ?)"));
  insert.bind(1, term.value);
  insert.bind_text(2, holder);
  insert.bind(3, head.value);
  return insert.run();
}

}  // namespace dove::store
