// NewLog: a log that comes from elsewhere into an empty database, in one transaction, as it is: its
// rows, and so its chain and its terms, stay the same.
//
// One thread. Calls block; the lease of the term must be renewed meanwhile by whoever calls.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/chain/log_page.h"
#include "store/postgres/connection.h"

namespace dove::store {

Error store_not_empty();  // with the remedy

class NewLog {
 public:
  // `term`: of begin_epoch() there; it does not outlast commit(). Errors: kConflict
  // `store_not_empty`, `epoch_stale` when another leads; those of PostgresStore::open().
  static Result<std::unique_ptr<NewLog>> begin(const std::string& url, Epoch term);

  // The next rows; the first ones may begin where retention has left a log. REQUIRES: the page is
  // verified (verified_batches). Errors: kConflict `log_differs`.
  Result<void> take(const LogPage& page);
  Result<void> take_snapshot(const Snapshot& snapshot);
  Result<void> take_blob(std::string_view sha256, Seq seq, std::string_view bytes);
  // Durable on return, or as PgTransaction::commit(). From then on anybody may begin the next term.
  Result<void> commit();

 private:
  NewLog(Connection opened, Epoch term);

  Connection connection_;
  std::optional<PgTransaction> transaction_;  // goes before it
  const Epoch term_;
  std::optional<Anchor> end_;  // of what was taken
  PagedTerm newest_;
};

}  // namespace dove::store
