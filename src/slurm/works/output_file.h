// The files that tasks of our jobs write where Slurm runs them: a part of one, read as their user.
//
// A process that has no more than that user's rights opens the file, so that no link and no folder
// shows what the user may not read. Only regular files are read. A file system that does not answer
// is left after kReadLimit, and so is the process that waits for it. Blocks until then. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::slurm {

struct PartWanted {
  std::string name;         // by which it was asked for
  std::string user;         // a Linux user
  std::string workdir;      // "": the user's home
  std::string path;         // relative to it, or absolute
  std::int64_t offset = 0;  // negative: the number of bytes before the end
  std::int64_t most = 0;
};

struct PartRead {
  std::string bytes;
  std::int64_t offset = 0;  // of the first
  bool at_end = false;      // there is no more at the moment
};

// What POST /v1/executors/NAME/output is answered with. None: nobody reads anything now.
Result<std::optional<PartWanted>> read_part_wanted(std::string_view body);

class OutputFiles {
 public:
  static constexpr std::int64_t kPartBytesMax = 1 << 20;
  static constexpr std::chrono::seconds kReadLimit{5};
  static constexpr std::size_t kStuckMax = 8;  // processes that wait for a file system

  // Errors: no_output_file; kDenied output_denied, and those of linux_user(); output_no_file;
  // kUnavailable output_unreachable.
  Result<PartRead> read(const PartWanted& wanted);

 private:
  std::vector<pid_t> stuck_;
};

}  // namespace dove::slurm
