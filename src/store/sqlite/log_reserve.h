// LogReserve: room on the disk that only the write-ahead log of the database can take.
//
// It is allocated behind the end of the log's file, which does not show it, so that some more
// batches can be written once nothing else can. Best effort: a file system that cannot do this
// (or is full already) leaves it empty. For the writer's thread.
#pragma once

#include <cstdint>
#include <string>

namespace dove::store {

class LogReserve {
 public:
  LogReserve() = default;
  LogReserve(LogReserve&& other) noexcept;
  LogReserve& operator=(LogReserve&& other) noexcept;
  ~LogReserve();

  // The database at that path has its log already.
  void open(const std::string& database_path);
  // Allocates again what was written into; cheap when nothing was. To be called after a batch.
  void keep();

  static constexpr std::int64_t kBytes = 1 << 20;

 private:
  int fd_ = -1;
  std::int64_t reserved_to_ = 0;  // bytes of the file
};

}  // namespace dove::store
