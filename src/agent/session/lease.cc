#include "agent/session/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <utility>

#include "files/descriptor.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::int64_t kDayUs = 86'400'000'000;
static_assert(std::atomic_ref<std::int64_t>::is_always_lock_free &&
              std::atomic_ref<std::uint64_t>::is_always_lock_free);

// What was there, with both checks from here on. A former version's deadline stays in its place:
// its shims read it meanwhile.
bool take_up(int fd, const std::string& path, shim::LeaseFile& file) {
  const shim::LeaseRead read = shim::read_lease(fd, file);
  if (read == shim::LeaseRead::kWhole) return true;
  if (read == shim::LeaseRead::kDamaged) {
    telemetry::log(telemetry::Level::kWarning, "lease_damaged",
                   {{"file", path}, {"effect", "it holds again once it is renewed"}});
  }
  if (read != shim::LeaseRead::kFormer) file = {};
  file.checks[0] = file.checks[1] = shim::lease_check(file.deadline_us);
  constexpr auto kChecks_at = static_cast<off_t>(offsetof(shim::LeaseFile, checks));
  if (::pwrite(fd, file.checks, sizeof file.checks, kChecks_at) != sizeof file.checks) return false;
  return read == shim::LeaseRead::kFormer ||
         ::pwrite(fd, &file.deadline_us, sizeof file.deadline_us, 0) == sizeof file.deadline_us;
}

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
  const files::Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.is_open()) return failed("open");
  shim::LeaseFile file;
  if (!take_up(fd.get(), path, file)) return failed("write");
  // Allocated, not merely extended: a store into a hole of a full disk would end the agent.
  if (const int error = ::posix_fallocate(fd.get(), 0, sizeof file); error != 0) {
    errno = error;
    return failed("allocate");
  }
  void* const at = ::mmap(nullptr, sizeof file, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return failed("map");
  LeaseWriter writer(static_cast<shim::LeaseFile*>(at), path);
  writer.older_ = file.checks[0] == shim::lease_check(file.deadline_us) ? 1 : 0;
  if (writer.deadline_us() > boottime_us() + kDayUs) writer.renew(0);
  return writer;
}

LeaseWriter::LeaseWriter(LeaseWriter&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      older_(other.older_) {}

LeaseWriter& LeaseWriter::operator=(LeaseWriter&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  std::swap(older_, other.older_);
  return *this;
}

LeaseWriter::~LeaseWriter() {
  if (file_ != nullptr) ::munmap(file_, sizeof *file_);
}

void LeaseWriter::renew(std::int64_t until_us) {
  std::atomic_ref(file_->checks[older_]).store(shim::lease_check(until_us));
  std::atomic_ref(file_->deadline_us).store(until_us);
  older_ ^= 1;
}

void LeaseWriter::leave() {
  if (::truncate(path_.c_str(), sizeof file_->deadline_us) == 0) return;
  telemetry::log(telemetry::Level::kWarning, "lease_not_left",
                 {{"file", path_},
                  {"why", std::strerror(errno)},
                  {"effect", "an agent of a former version ends the tasks that run"}});
}

std::int64_t LeaseWriter::deadline_us() const { return std::atomic_ref(file_->deadline_us).load(); }

std::int64_t read_lease_us(const std::string& path) {
  const files::Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return 0;
  shim::LeaseFile file;
  const shim::LeaseRead read = shim::read_lease(fd.get(), file);
  return read == shim::LeaseRead::kWhole || read == shim::LeaseRead::kFormer ? file.deadline_us : 0;
}

}  // namespace dove::agent
