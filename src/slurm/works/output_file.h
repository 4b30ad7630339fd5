// The files that tasks of our jobs write where Slurm runs them: a part of one, read as their user.
//
// A process that has no more than that user's rights opens the file, so that no link and no folder
// shows what the user may not read. Only regular files are read, several at a time. A file system
// that does not answer is left after kReadLimit, and so is the process that waits for it; a user
// with several such processes reads nothing, and others read on. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/descriptor.h"

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
  std::int64_t size = 0;    // of the file, before it was read
  bool at_end = false;      // there is no more at the moment
};

// What POST /v1/executors/NAME/output is answered with. None: nobody reads anything now.
Result<std::optional<PartWanted>> read_part_wanted(std::string_view body);

struct PartDone {
  std::string name;  // of the part that was wanted
  Result<PartRead> part;
};

class OutputFiles {
 public:
  static constexpr std::int64_t kPartBytesMax = 1 << 20;
  static constexpr std::chrono::seconds kReadLimit{5};
  static constexpr std::chrono::seconds kSlow{1};
  static constexpr std::size_t kSlowMax = 4;        // processes of a user that take so long
  static constexpr std::size_t kProcessesMax = 64;  // of all users

  explicit OutputFiles(std::chrono::milliseconds limit = kReadLimit,
                       std::chrono::milliseconds slow = kSlow)
      : limit_(limit), slow_(slow) {}
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  void begin(const PartWanted& wanted);
  // One that was begun and is done, for which it waits so long; none: none is by then. Errors of
  // its part: no_output_file; kDenied output_denied, and those of linux_user(); output_no_file;
  // kUnavailable output_unreachable.
  std::optional<PartDone> next(std::chrono::milliseconds wait);
  // Whether there is anything to wait for.
  bool is_reading() const { return !readings_.empty() || !done_.empty(); }

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Reading {
    std::string name;
    std::string user;
    std::string path;
    pid_t pid = 0;
    files::Descriptor from;
    std::size_t most = 0;
    Time begun;
    std::string bytes;
  };
  // One that has sent what it will, or is not waited for any more. It may not have ended.
  struct Left {
    pid_t pid = 0;
    std::string user;
    Time begun;
  };

  Result<Reading> start(const PartWanted& wanted);
  std::size_t slow_of(const std::string& user) const;
  void leave(Reading& reading, Result<PartRead> part);
  void leave_late();
  void take(Reading& reading);

  const std::chrono::milliseconds limit_;
  const std::chrono::milliseconds slow_;
  std::list<Reading> readings_;
  std::vector<Left> left_;
  std::deque<PartDone> done_;
};

}  // namespace dove::slurm
