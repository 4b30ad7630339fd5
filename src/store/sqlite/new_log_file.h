// NewLogFile: a log that comes from elsewhere into a directory that has none, as it is: its rows,
// and so its chain and its terms, stay the same.
//
// One file, which is whole and on the disk after commit(), and worthless before. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/chain/log_page.h"
#include "store/sqlite/database.h"

namespace dove::store {

class NewLogFile {
 public:
  // REQUIRES: the directory is there. Errors: `file_unwritable`, also where there is a log.
  static Result<std::unique_ptr<NewLogFile>> begin(const std::string& directory);

  // The next rows; the first ones may begin where retention has left a log. REQUIRES: the page is
  // verified (verified_batches). Errors: kConflict `log_differs`.
  Result<void> take(const LogPage& page);
  Result<void> take_snapshot(const Snapshot& snapshot);
  Result<void> take_blob(std::string_view sha256, Seq seq, std::string_view bytes);
  Result<void> commit();

 private:
  explicit NewLogFile(std::string path) : path_(std::move(path)) {}
  Result<void> open();

  const std::string path_;
  Database database_;  // goes after the rest
  std::optional<Transaction> transaction_;
  Statement insert_record_;
  Statement insert_batch_;
  Statement insert_term_;
  Statement insert_blob_;
  std::optional<Anchor> end_;  // of what was taken
};

}  // namespace dove::store
