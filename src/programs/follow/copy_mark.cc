#include "programs/follow/copy_mark.h"

#include <fmt/format.h>

#include "files/text_file.h"

namespace dove::programs {
namespace {

constexpr std::size_t kBytesMax = 4096;

std::string path_in(const std::string& data_dir) { return data_dir + "/" + kCopyMark; }

}  // namespace

std::string copied_cluster(const std::string& data_dir) {
  const std::string line = files::text_or_empty(path_in(data_dir), kBytesMax);
  return line.substr(0, line.find(' '));
}

Result<void> mark_copy(const std::string& data_dir, const std::string& cluster,
                       const std::string& url) {
  return files::write_atomically(path_in(data_dir), cluster + " " + url + "\n", 0644,
                                 files::Survives::kPowerCut);
}

Result<void> check_no_copy(const std::string& data_dir) {
  if (copied_cluster(data_dir).empty()) return {};
  return Error{ErrorKind::kConflict, "log_is_a_copy",
               fmt::format("{0} holds a copy that a follower keeps. To go on from it, be sure that "
                           "the former controller is off, and say `dove restore --in-place --data "
                           "{0}` first (docs/operate/follow.md)",
                           data_dir),
               data_dir};
}

}  // namespace dove::programs
