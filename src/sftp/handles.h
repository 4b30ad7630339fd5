// Handles: the files and directories that the client has open. A handle is a number that is not
// given twice.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dove::sftp {

struct Handle {
  int fd = -1;
  DIR* directory = nullptr;  // owns fd then
  bool appends = false;
};

class Handles {
 public:
  static constexpr std::size_t kMost = 256;

  bool is_full() const { return open_.size() >= kMost; }
  std::string add(Handle handle) {
    open_[++last_] = handle;
    return std::to_string(last_);
  }
  // nullptr: there is none of that name.
  Handle* find(std::string_view name) {
    const auto found = at(name);
    return found == open_.end() ? nullptr : &found->second;
  }
  // 0, or errno.
  int close(std::string_view name);

 private:
  std::map<std::uint64_t, Handle>::iterator at(std::string_view name);

  std::map<std::uint64_t, Handle> open_;
  std::uint64_t last_ = 0;
};

}  // namespace dove::sftp
