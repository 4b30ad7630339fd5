#include "cli/slurm/gang/step_turn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "cli/slurm/gang/own_file.h"

namespace dove::cli {

std::string step_turn_path() { return fmt::format("/tmp/dove-step-turns-{}", ::geteuid()); }

StepTurn::StepTurn(const std::string& path, const std::vector<std::string>& allocations) {
  for (const std::string& allocation : allocations) {
    std::int64_t number = 0;
    std::from_chars(allocation.data(), allocation.data() + allocation.size(), number);
    places_.push_back(number);
  }
  std::sort(places_.begin(), places_.end());
  places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
  file_ = open_own_file(path);
}

bool StepTurn::take(bool waits) {
  for (; file_.is_open() && taken_ < places_.size(); ++taken_) {
    struct flock place {};
    place.l_type = F_WRLCK;
    place.l_whence = SEEK_SET;
    place.l_start = places_[taken_];
    place.l_len = 1;
    int got = -1;
    do {
      got = ::fcntl(file_.get(), waits ? F_OFD_SETLKW : F_OFD_SETLK, &place);
    } while (got != 0 && errno == EINTR);
    if (got == 0) continue;
    if (errno == EAGAIN || errno == EACCES) return false;
    end();  // a file system without locks
  }
  return true;
}

}  // namespace dove::cli
