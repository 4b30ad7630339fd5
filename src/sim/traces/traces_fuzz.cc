// Any bytes as the files of a trace: jobs that make sense, or an error that names its place; never
// a crash. The first byte says of which format; a line "==" begins the next file.
//
// seeds: tests/seeds/traces
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "sim/traces/gang_trace.h"
#include "sim/traces/openb_trace.h"
#include "sim/traces/queue_trace.h"

namespace dove::sim {
namespace {

// A file in memory, with a path as long as it lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : fd_(memfd_create("trace", MFD_CLOEXEC)) {
    CHECK(fd_ >= 0, "a file in memory");
    CHECK(write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "its text");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

template <class T>
bool is_read(const Result<T>& read) {
  if (!read.ok())
    CHECK(read.error().message.find("/proc/self/fd/") == 0, "an error names its place");
  return read.ok();
}

void check(const Result<QueueTrace>& trace) {
  if (!is_read(trace)) return;
  Instant last{0};
  for (const QueueJob& job : trace->jobs) {
    CHECK(job.gpus > 0 && job.run.us >= 0 && job.limit.us >= 0, "a job that ran");
    CHECK(job.account < trace->accounts.size(), "an account of the trace");
    CHECK(job.submitted_at >= last, "jobs in the order of their submission");
    last = job.submitted_at;
  }
}

}  // namespace
}  // namespace dove::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove::sim;
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  constexpr std::string_view kNext = "\n==\n";
  std::vector<std::string_view> parts;
  while (parts.size() < 2 && text.find(kNext) != std::string_view::npos) {
    const std::size_t end = text.find(kNext);
    parts.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + kNext.size());
  }
  parts.push_back(text);
  parts.resize(3);
  const MemoryFile first(parts[0]);
  const MemoryFile second(parts[1]);
  const MemoryFile third(parts[2]);
  switch (data[0]) {
    case 's':
      check(read_swf(first.path()));
      break;
    case 'p':
      check(read_philly(first.path()));
      break;
    case 'g':
      if (const auto jobs = read_gang_trace(first.path(), second.path()); is_read(jobs)) {
        for (const GangJob& job : *jobs) CHECK(job.gpus > 0 && job.work.us >= 0, "a job with work");
      }
      break;
    default:
      if (const auto trace = read_openb({first.path(), second.path(), third.path()});
          is_read(trace)) {
        for (const std::int32_t shape : trace->arrivals) {
          CHECK(shape >= 0 && static_cast<std::size_t>(shape) < trace->shapes.size(), "a shape");
        }
      }
  }
  return 0;
}
