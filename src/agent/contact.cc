#include "agent/contact.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dove::agent {

Result<Contact> Contact::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Error{ErrorKind::kInternal, "cannot_open",
                 fmt::format("{}: {}; the agent needs to write to its data directory", path,
                             strerror(errno)),
                 ""};
  }
  Contact contact(fd);
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

void Contact::heard(std::int64_t boottime_us, std::uint64_t epoch, std::uint64_t log_head) {
  facts_.heard_at_us = boottime_us;
  facts_.epoch = std::max(facts_.epoch, epoch);
  facts_.log_head = std::max(facts_.log_head, log_head);
  // Failing to write shortens the next life's grace, which is the safe direction.
  (void)!pwrite(fd_, &facts_, sizeof facts_, 0);
}

}  // namespace dove::agent
