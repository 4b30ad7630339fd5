// HeadFile: how far the log of a directory has come, kept outside of the database.
//
// Internal to store/sqlite. Part of the log lies in `log.sqlite-wal` until it is checkpointed, and
// all of it may: a `log.sqlite` that was copied or put back without it is a shorter log, or an
// empty one, whose chain is whole. `DIR/head` says how long it was. It is overwritten in place
// after every append and not synced, so it is never ahead of what is durable. Writer thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/ids.h"

namespace dove::store {

class HeadFile {
 public:
  HeadFile() = default;
  HeadFile(HeadFile&& other) noexcept;
  HeadFile& operator=(HeadFile&& other) noexcept;
  ~HeadFile();

  // The log in `directory` ends at `stored`. kCorrupt `log_behind` when the file names a later
  // record. `must_be_there`: the log was not closed in order, and there is no log.sqlite-wal; then
  // kCorrupt `wal_missing` unless the file says that the log is whole.
  static Result<HeadFile> open(const std::string& directory, Seq stored, bool must_be_there);

  // What cannot be written is left: the file then says less, which harms nobody.
  void keep(Seq head);

 private:
  explicit HeadFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace dove::store
