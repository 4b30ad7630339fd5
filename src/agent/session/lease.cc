#include "agent/session/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

namespace dove::agent {
namespace {

constexpr std::int64_t kDayUs = 86'400'000'000;
using Word = std::atomic<std::int64_t>;
static_assert(sizeof(Word) == 8 && Word::is_always_lock_free);

}  // namespace

std::int64_t boottime_us() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

Result<LeaseWriter> LeaseWriter::open(const std::string& path) {
  const auto failed = [&](const char* doing) -> Error {
    const int reason = errno;
    return {ErrorKind::kInternal, "lease_file",
            fmt::format("cannot {} the lease file {}: {}; the data directory must be writable and "
                        "have space",
                        doing, path, std::strerror(reason)),
            path};
  };
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return failed("open");
  // Allocated, not merely extended: a store into a hole of a full disk would end the agent.
  if (const int error = ::posix_fallocate(fd, 0, sizeof(Word)); error != 0) {
    errno = error;
    const Error result = failed("allocate");
    ::close(fd);
    return result;
  }
  void* const at = ::mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int reason = errno;
  ::close(fd);
  if (at == MAP_FAILED) {
    errno = reason;
    return failed("map");
  }
  LeaseWriter writer(static_cast<Word*>(at));
  if (writer.deadline_us() > boottime_us() + kDayUs) writer.renew(0);
  return writer;
}

LeaseWriter::LeaseWriter(LeaseWriter&& other) noexcept
    : word_(std::exchange(other.word_, nullptr)) {}

LeaseWriter& LeaseWriter::operator=(LeaseWriter&& other) noexcept {
  std::swap(word_, other.word_);
  return *this;
}

LeaseWriter::~LeaseWriter() {
  if (word_ != nullptr) ::munmap(static_cast<void*>(word_), sizeof(Word));
}

void LeaseWriter::renew(std::int64_t until_us) { word_->store(until_us); }

std::int64_t LeaseWriter::deadline_us() const { return word_->load(); }

std::int64_t read_lease_us(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::int64_t value = 0;
  if (::pread(fd, &value, sizeof value, 0) != sizeof value) value = 0;
  ::close(fd);
  return value;
}

}  // namespace dove::agent
