#include "containers/reaping.h"

#include <sys/wait.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace dove::containers {

bool reap_or_leave(pid_t child) {
  static std::mutex mutex;
  static std::vector<pid_t> left;
  const std::lock_guard<std::mutex> lock(mutex);
  if (std::find(left.begin(), left.end(), child) == left.end()) left.push_back(child);
  std::erase_if(left, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  return std::find(left.begin(), left.end(), child) == left.end();
}

}  // namespace dove::containers
