#include "agent/shim_status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace dove::agent {
namespace {

constexpr std::size_t kMostBytes = 16 * 1024;

// The file's text; nothing if there is no such file, or it cannot be read.
std::optional<std::string> read_small_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text(kMostBytes, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  if (got < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  return text;
}

struct Line {
  std::string_view key;
  std::string_view value;
};

std::optional<Line> next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  return Line{line.substr(0, equals), line.substr(equals + 1)};
}

bool take(const Line& line, shim::ShimRecord& record) {
  const auto into = [&](auto& field) {
    const char* const end = line.value.data() + line.value.size();
    return std::from_chars(line.value.data(), end, field).ptr == end;
  };
  if (line.key == "shim_pid") return into(record.shim_pid);
  if (line.key == "task_pid") return into(record.task_pid);
  if (line.key == "exit_code") return into(record.exit_code);
  if (line.key == "exit_signal") return into(record.exit_signal);
  if (line.key == "stop_signal") return into(record.stop_signal);
  if (line.key == "flags") return into(record.flags);
  if (line.key == "start_errno") return into(record.start_errno);
  if (line.key == "started_boottime_us") return into(record.started_boottime_us);
  if (line.key == "started_realtime_us") return into(record.started_realtime_us);
  if (line.key == "ended_boottime_us") return into(record.ended_boottime_us);
  if (line.key == "ended_realtime_us") return into(record.ended_realtime_us);
  if (line.key == "cpu_user_us") return into(record.cpu_user_us);
  if (line.key == "cpu_system_us") return into(record.cpu_system_us);
  if (line.key == "max_rss_bytes") return into(record.max_rss_bytes);
  return true;  // of a newer shim
}

Result<std::optional<ShimStatus>> read_lines(const std::string& directory, const char* name,
                                             shim::RecordKind kind) {
  const std::string path = directory + "/" + name;
  const std::optional<std::string> text = read_small_file(path);
  if (!text) return std::optional<ShimStatus>();
  ShimStatus status;
  status.record.kind = kind;
  status.record.tag = shim::directory_tag(directory.c_str());
  bool whole = false;
  std::string_view rest = *text;
  while (std::optional<Line> line = next_line(rest)) {
    if (line->key == "end") whole = rest.empty();
    if (line->key == "start_error") status.start_error = line->value;
    if (line->key == "start_error" || line->key == "end" || take(*line, status.record)) continue;
    whole = false;
    break;
  }
  if (whole) return std::optional<ShimStatus>(std::move(status));
  // `started` and `held` are written in place: one that is cut short is not there yet.
  if (kind != shim::kEndedRecord) return std::optional<ShimStatus>();
  return Error{ErrorKind::kCorrupt, "bad_shim_status",
               fmt::format("{} was not written by dove-shim; the task's end is unknown", path),
               path};
}

}  // namespace

Result<std::optional<ShimStatus>> read_shim_status(const std::string& directory) {
  return read_lines(directory, shim::kStatusFile, shim::kEndedRecord);
}

Result<std::optional<shim::ShimRecord>> read_shim_started(const std::string& directory) {
  TRY_ASSIGN(std::optional<ShimStatus> status,
             read_lines(directory, shim::kStartedFile, shim::kStartedRecord));
  if (!status) return std::optional<shim::ShimRecord>();
  return std::optional<shim::ShimRecord>(status->record);
}

Result<ShimChannel> ShimChannel::open(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) {
    return Error{ErrorKind::kInternal, "shim_channel",
                 fmt::format("cannot make {}: {}; the data directory must be on a local file "
                             "system that has FIFOs",
                             path, std::strerror(errno)),
                 path};
  }
  // For reading and writing, so that neither side ever sees the other one gone.
  const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct stat facts {};
  if (fd < 0 || ::fstat(fd, &facts) != 0 || !S_ISFIFO(facts.st_mode)) {
    if (fd >= 0) ::close(fd);
    return Error{ErrorKind::kInternal, "shim_channel",
                 fmt::format("cannot open {} as a FIFO; remove it and start again", path), path};
  }
  return ShimChannel(fd);
}

ShimChannel::ShimChannel(ShimChannel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

ShimChannel& ShimChannel::operator=(ShimChannel&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

ShimChannel::~ShimChannel() {
  if (fd_ >= 0) ::close(fd_);
}

std::vector<shim::ShimRecord> ShimChannel::read() {
  std::vector<shim::ShimRecord> records;
  shim::ShimRecord some[64];
  static_assert(sizeof(shim::ShimRecord) <= 512, "a write of one must be atomic");
  for (;;) {
    const ssize_t got = ::read(fd_, some, sizeof some);
    if (got <= 0) return records;
    records.insert(records.end(), some, some + got / static_cast<ssize_t>(sizeof some[0]));
  }
}

}  // namespace dove::agent
