// FileMarks: whether files may have changed since they were last read, without reading them.
//
// By what the system says of them: which file it is, its size, and when it last changed. One
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dove::files {

class FileMarks {
 public:
  explicit FileMarks(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // Whether they are to be read: at the first call, and when they may be other than at the last
  // call that said so. Files may be missing.
  bool changed();
  // What was read then was of no use: the next call says so again.
  void forget() { is_settled_ = false; }

 private:
  struct Mark {
    std::uint64_t device = 0;
    std::uint64_t file = 0;  // 0: it is missing
    std::int64_t size = 0;
    std::int64_t written_ns = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Mark&) const = default;
  };
  static Mark mark_of(const std::string& path);

  const std::vector<std::string> paths_;
  std::vector<Mark> marks_;
  bool is_settled_ = false;  // another change would show
};

}  // namespace dove::files
