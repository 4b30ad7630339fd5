#include "agent/tasks/shim_status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "files/text_file.h"

namespace dove::agent {
namespace {

constexpr std::size_t kFileBytes_max = std::size_t{64} << 20;

// The last kReportBytes of the task's file; nothing if there is no such file.
std::optional<std::string> read_report(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text(shim::kReportBytes, '\0');
  struct stat facts {};
  const bool whole = ::fstat(fd, &facts) == 0 && facts.st_size > shim::kReportBytes &&
                     ::pread(fd, text.data(), text.size(), facts.st_size - shim::kReportBytes) ==
                         shim::kReportBytes;
  ::close(fd);
  if (!whole) return std::nullopt;
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

// What lines up to `end=1` say; nothing if they do not go so far.
std::optional<ShimStatus> parse(std::string_view text, const std::string& path,
                                shim::RecordKind kind) {
  ShimStatus status;
  status.record.kind = kind;
  status.record.tag = shim::task_tag(path.c_str());
  const std::string_view whole = text;
  std::size_t before = 0;
  while (std::optional<Line> line = next_line(text)) {
    const std::size_t length = std::exchange(before, whole.size() - text.size());
    if (line->key == "end") return status;
    if (line->key == shim::kSum) {  // a former version wrote none
      if (line->value != std::to_string(shim::sum_of(whole.data(), length))) return std::nullopt;
      continue;
    }
    if (line->key == "start_error") {
      status.start_error = line->value;
    } else if (!take(*line, status.record)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<ShimStatus>> read_shim_status(const std::string& path) {
  const std::optional<std::string> report = read_report(path);
  if (!report) return std::optional<ShimStatus>();
  const std::string_view text = std::string_view(*report).substr(shim::kStartedBytes);
  if (text[0] == '\0') return std::optional<ShimStatus>();
  std::optional<ShimStatus> status = parse(text, path, shim::kEndedRecord);
  if (!status) {
    return Error{ErrorKind::kCorrupt, "bad_shim_status",
                 fmt::format("what {} says of the task's end was not written by dove-shim; the end "
                             "is unknown",
                             path),
                 path};
  }
  if (status->record.start_errno != 0) {
    status->start_error.append(": ").append(std::strerror(status->record.start_errno));
  }
  return status;
}

bool is_of_another(const std::string& path, const std::string& mark) {
  const std::string text = files::text_or_empty(path, kFileBytes_max);
  const std::string before =
      std::string(1, '\0') + shim::kEnv + '=' + std::string(shim::kMarkVariable) + '=';
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return false;
  return text.compare(at + before.size(), mark.size() + 1, mark.c_str(), mark.size() + 1) != 0;
}

Result<std::optional<shim::ShimRecord>> read_shim_started(const std::string& path) {
  std::optional<shim::ShimRecord> record;
  const std::optional<std::string> report = read_report(path);
  if (!report || report->starts_with(shim::kHeldLine)) return record;
  const std::string_view text = std::string_view(*report).substr(0, shim::kStartedBytes);
  if (const auto status = parse(text, path, shim::kStartedRecord)) record = status->record;
  return record;
}

Result<bool> read_shim_held(const std::string& path) {
  const std::optional<std::string> report = read_report(path);
  return report.has_value() && report->starts_with(shim::kHeldLine);
}

Result<ShimChannel> ShimChannel::open(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) {
    return Error{ErrorKind::kInternal, "shim_channel",
                 fmt::format("cannot make {}: {}; the data path must be on a local file "
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
