#include "agent/session/contact.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dove::agent {

Result<Contact> Contact::open(const std::string& path, std::chrono::seconds wait) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Error{ErrorKind::kInternal, "cannot_open",
                 fmt::format("{}: {}; the agent needs to write to its data directory", path,
                             strerror(errno)),
                 ""};
  }
  Contact contact(fd);
  // Shims do not inherit the descriptor, so the lock ends with the agent.
  const auto until = std::chrono::steady_clock::now() + wait;
  bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
  while (!locked && std::chrono::steady_clock::now() < until) {
    poll(nullptr, 0, 20);
    locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
  }
  if (!locked) {
    return Error{ErrorKind::kConflict, "agent_runs",
                 fmt::format("{}: another agent runs on this data directory; stop it, or give this "
                             "one a directory of its own with --data",
                             path),
                 ""};
  }
  Facts facts;
  if (pread(fd, &facts, sizeof facts, 0) == static_cast<ssize_t>(sizeof facts)) {
    contact.facts_ = facts;
  }
  return contact;
}

Contact::Contact(Contact&& other) noexcept : fd_(other.fd_), facts_(other.facts_) {
  other.fd_ = -1;
}

Contact::~Contact() {
  if (fd_ >= 0) close(fd_);
}

void Contact::heard(std::int64_t boottime_us) {
  facts_.heard_at_us = boottime_us;
  keep();
}

void Contact::saw(std::uint64_t epoch, std::uint64_t log_head) {
  if (epoch <= facts_.epoch && log_head <= facts_.log_head) return;
  facts_.epoch = std::max(facts_.epoch, epoch);
  facts_.log_head = std::max(facts_.log_head, log_head);
  keep();
}

void Contact::agreed(std::int64_t fence_us, std::int64_t disconnect_grace_us) {
  facts_.fence_us = fence_us;
  facts_.disconnect_grace_us = disconnect_grace_us;
  keep();
}

// Failing to write shortens the next life's grace, which is the safe direction.
void Contact::keep() { (void)!pwrite(fd_, &facts_, sizeof facts_, 0); }

}  // namespace dove::agent
