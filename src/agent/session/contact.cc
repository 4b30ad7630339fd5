#include "agent/session/contact.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/digest.h"

namespace dove::agent {
namespace {

template <std::size_t N>
void set(char (&to)[N], const std::string& text) {
  std::memset(to, 0, N);
  text.copy(to, N - 1);
}

}  // namespace

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
  contact.read();
  return contact;
}

struct Contact::Stored {
  char magic[8] = {'d', 'o', 'v', 'e', 'c', 'o', 'n', '2'};
  Facts facts;
  std::uint64_t digest = 0;
  // Up to here it is what former versions wrote, and still write where an update was taken back.
  Clocks clocks;
  std::uint64_t knows_clocks = 0;
  std::uint64_t clocks_digest = 0;

  std::uint64_t digest_now() const {
    Digest made;
    made.add(std::string_view(magic, sizeof magic));
    made.add(std::string_view(reinterpret_cast<const char*>(&facts), sizeof facts));
    return made.value();
  }
  std::uint64_t clocks_digest_now() const {
    Digest made;
    made.add(std::string_view(reinterpret_cast<const char*>(&clocks), sizeof clocks));
    made.add(knows_clocks);
    return made.value();
  }
};

void Contact::read() {
  Stored stored;
  const Stored none;
  const ssize_t size = pread(fd_, &stored, sizeof stored, 0);
  constexpr ssize_t kFormer_bytes = offsetof(Facts, outage_grace_us);
  constexpr ssize_t kWithoutClocks_bytes = offsetof(Stored, clocks);
  const bool has_clocks = size == static_cast<ssize_t>(sizeof stored);
  // Without clocks that it had, a pause could be hidden: then nothing else counts either.
  if ((has_clocks ? stored.clocks_digest == stored.clocks_digest_now()
                  : size == kWithoutClocks_bytes) &&
      stored.digest == stored.digest_now() &&
      std::memcmp(stored.magic, none.magic, sizeof none.magic) == 0) {
    facts_ = stored.facts;
    if (has_clocks && stored.knows_clocks != 0) clocks_ = stored.clocks;
  } else if (size == kFormer_bytes &&
             std::memcmp(stored.magic, none.magic, sizeof none.magic) != 0) {
    (void)!pread(fd_, &facts_, kFormer_bytes, 0);
    facts_.epoch = facts_.log_head = 0;  // which it could not prove
  }
  facts_.proof[sizeof facts_.proof - 1] = '\0';
  facts_.boot_id[sizeof facts_.boot_id - 1] = '\0';
}

Contact::Contact(Contact&& other) noexcept
    : fd_(other.fd_), facts_(other.facts_), clocks_(other.clocks_) {
  other.fd_ = -1;
}

Contact::~Contact() {
  if (fd_ >= 0) close(fd_);
}

void Contact::note(const Clocks& clocks) {
  clocks_ = clocks;
  keep();
}

void Contact::heard(std::int64_t boottime_us) {
  facts_.heard_at_us = boottime_us;
  keep();
}

void Contact::saw(std::uint64_t epoch, std::uint64_t log_head, const std::string& proof) {
  if (std::pair(epoch, log_head) <= std::pair(facts_.epoch, facts_.log_head)) return;
  if (proof.empty() || proof.size() >= sizeof facts_.proof) return;
  facts_.epoch = epoch;
  facts_.log_head = log_head;
  set(facts_.proof, proof);
  keep();
}

void Contact::agreed(std::int64_t fence_us, std::int64_t disconnect_grace_us,
                     std::int64_t outage_grace_us) {
  facts_.fence_us = fence_us;
  facts_.disconnect_grace_us = disconnect_grace_us;
  facts_.outage_grace_us = outage_grace_us;
  keep();
}

bool Contact::in_outage_grace(std::int64_t now_us) const {
  const std::int64_t long_us = now_us - facts_.outage_at_us;
  return knows_outage() && long_us >= 0 && long_us < facts_.outage_grace_us;
}

void Contact::outage(std::int64_t boottime_us) {
  facts_.outage_at_us = boottime_us;
  keep();
}

void Contact::may_be_heard(std::int64_t boottime_us, std::int64_t missed_us) {
  if (!knows_outage()) return;
  const std::int64_t longer_us =
      std::max<std::int64_t>(facts_.outage_grace_us - facts_.disconnect_grace_us, 0);
  heard(std::min(boottime_us, std::exchange(facts_.outage_at_us, 0) + longer_us - missed_us));
}

void Contact::lives_in(const std::string& boot_id) {
  facts_.outage_at_us = 0;
  set(facts_.boot_id, boot_id);
  keep();
}

void Contact::forget_records() {
  facts_.epoch = facts_.log_head = 0;
  set(facts_.proof, "");
  keep();
}

void Contact::begin_boot(const std::string& boot_id) {
  if (boot_id == facts_.boot_id) return;
  clocks_.reset();
  if (facts_.boot_id[0] != '\0') facts_.heard_at_us = facts_.outage_at_us = 0;
  keep();
}

// Failing to write shortens the next life's grace, which is the safe direction.
void Contact::keep() {
  Stored stored;
  stored.facts = facts_;
  stored.digest = stored.digest_now();
  if (clocks_) stored.clocks = *clocks_;
  stored.knows_clocks = clocks_ ? 1 : 0;
  stored.clocks_digest = stored.clocks_digest_now();
  (void)!pwrite(fd_, &stored, sizeof stored, 0);
}

}  // namespace dove::agent
