#include "programs/dove_shim_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace dove::shim {
namespace {

namespace words = dove::agent::shim;

class Text {
 public:
  void put(const char* text) {
    for (; *text != '\0' && length_ < sizeof bytes_; ++text) {
      bytes_[length_++] = *text;
    }
  }
  void put_word(const char* text) {
    for (; *text != '\0' && length_ < sizeof bytes_ - 256; ++text) {
      bytes_[length_++] = *text == '\n' ? '?' : *text;
    }
  }
  void put(const char* key, std::int64_t value) {
    char digits[24];
    int count = 0;
    std::uint64_t rest =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest > 0);
    if (value < 0) digits[count++] = '-';
    put(key);
    char text[26];
    int at = 0;
    text[at++] = '=';
    while (count > 0) text[at++] = digits[--count];
    text[at++] = '\n';
    text[at] = '\0';
    put(text);
  }
  void put(const ShimRecord& record) {
    put("shim_pid", record.shim_pid);
    put("task_pid", record.task_pid);
    put("exit_code", record.exit_code);
    put("exit_signal", record.exit_signal);
    put("stop_signal", record.stop_signal);
    put("flags", record.flags);
    put("start_errno", record.start_errno);
    put("started_boottime_us", record.started_boottime_us);
    put("started_realtime_us", record.started_realtime_us);
    put("ended_boottime_us", record.ended_boottime_us);
    put("ended_realtime_us", record.ended_realtime_us);
    put("cpu_user_us", record.cpu_user_us);
    put("cpu_system_us", record.cpu_system_us);
    put("max_rss_bytes", record.max_rss_bytes);
  }
  // Whether all of it was written.
  bool write_to(const char* file) const {
    const int fd = ::open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    const ssize_t written = ::write(fd, bytes_, length_);
    ::close(fd);
    return written == static_cast<ssize_t>(length_);
  }

 private:
  char bytes_[6144];
  std::size_t length_ = 0;
};

}  // namespace

void send_record(const ShimRecord& record) {
  if (::write(words::kChannelFd, &record, sizeof record) != sizeof record) {
  }
}

void write_record(const char* file, const ShimRecord& record) {
  Text text;
  text.put(record);
  text.put("end=1\n");
  text.write_to(file);
}

void write_status(const ShimRecord& record, const Failure& failure) {
  Text text;
  text.put(record);
  if (failure.number != 0) {
    text.put("start_error=cannot ");
    text.put_word(failure.doing);
    text.put(" ");
    text.put_word(failure.what);
    text.put(": ");
    const char* const reason = ::strerrordesc_np(failure.number);
    text.put(reason != nullptr ? reason : "unknown error");
    text.put("\n");
  }
  text.put("end=1\n");
  constexpr const char kTemporary[] = "status.new";
  if (text.write_to(kTemporary)) ::rename(kTemporary, words::kStatusFile);
}

}  // namespace dove::shim
