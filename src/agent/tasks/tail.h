// FileTail: reads a growing file in bounded chunks, and continues in its successor after a
// rotation.
//
// For following a task's output (`dove logs -f`). It never waits: at the end it returns nothing,
// and the caller asks again later. Not thread-safe; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dove::agent {

class FileTail {
 public:
  // Reads `path` from byte `offset` (< 0: that many bytes before its end). The file need not exist.
  // `owner_uid` >= 0: only a file of that user is read, so that a path which a user chose shows
  // nothing that only root may see.
  FileTail(std::string path, std::int64_t offset, std::int64_t owner_uid = -1);
  FileTail(FileTail&& other) noexcept;
  FileTail& operator=(FileTail&&) = delete;
  ~FileTail();

  // Whether there was such a file at the last read.
  bool is_open() const { return fd_ >= 0; }

  struct Chunk {
    std::string bytes;        // empty: at the end of what there is
    std::int64_t offset = 0;  // of the first byte, in the file it is from
    bool restarted = false;   // the file was rotated or truncated before these bytes
  };
  // At most `most` bytes. After a rotation the rest of the former file comes first. All but the
  // last of the files that were rotated away between two calls are missed. Errors: the file cannot
  // be opened or read, other than that it does not exist.
  Result<Chunk> read(std::size_t most);

 private:
  Result<bool> open();
  Result<bool> next_file();

  std::string path_;
  std::int64_t offset_;
  std::int64_t owner_uid_;
  int fd_ = -1;
  bool restarted_ = false;
};

}  // namespace dove::agent
