#include "shim/report.h"

#include <unistd.h>

namespace dove::shim {
namespace {

namespace words = dove::agent::shim;

constexpr std::size_t kStatusBytes = words::kReportBytes - words::kStartedBytes;

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
  void put_start(const ShimRecord& record) {
    put("shim_pid", record.shim_pid);
    put("task_pid", record.task_pid);
    put("started_boottime_us", record.started_boottime_us);
    put("started_realtime_us", record.started_realtime_us);
  }
  // Fills the room at `at` of the task's file: in one write, and with zeros to its end.
  void write_at(std::int64_t at, std::size_t room) {
    put(words::kSum, words::sum_of(bytes_, length_));
    put("end=1\n");
    if (at < 0 || length_ > room) return;
    // If this fails, the agent finds that the shim is gone and said nothing.
    if (::pwrite(words::kTaskFd, bytes_, room, at) < 0) {
    }
  }

 private:
  char bytes_[kStatusBytes] = {};
  std::size_t length_ = 0;
};

}  // namespace

void send_record(const ShimRecord& record) {
  if (::write(words::kChannelFd, &record, sizeof record) != sizeof record) {
  }
}

void write_held(std::int64_t at) {
  Text text;
  text.put(words::kHeldLine);
  text.put("\n");
  text.write_at(at, words::kStartedBytes);
}

void write_started(std::int64_t at, const ShimRecord& record) {
  Text text;
  text.put_start(record);
  text.write_at(at, words::kStartedBytes);
}

void write_status(std::int64_t at, const ShimRecord& record, const Failure& failure) {
  Text text;
  text.put_start(record);
  text.put("exit_code", record.exit_code);
  text.put("exit_signal", record.exit_signal);
  text.put("stop_signal", record.stop_signal);
  text.put("flags", record.flags);
  text.put("start_errno", record.start_errno);
  text.put("ended_boottime_us", record.ended_boottime_us);
  text.put("ended_realtime_us", record.ended_realtime_us);
  text.put("cpu_user_us", record.cpu_user_us);
  text.put("cpu_system_us", record.cpu_system_us);
  text.put("max_rss_bytes", record.max_rss_bytes);
  if (failure.number != 0) {
    text.put("start_error=cannot ");
    text.put_word(failure.doing);
    text.put(" ");
    text.put_word(failure.what);
    text.put("\n");
  }
  text.write_at(at < 0 ? at : at + words::kStartedBytes, kStatusBytes);
}

}  // namespace dove::shim
