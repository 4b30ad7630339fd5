#include "telemetry/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "telemetry/clock.h"
#include "telemetry/json_text.h"

namespace dove::telemetry {
namespace {

std::atomic<Level> least_level{Level::kInfo};
std::atomic<Sink> other_sink{nullptr};

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "unknown";
}

std::string utc_text(std::int64_t at_us) {
  const std::time_t seconds = at_us / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     at_us % 1'000'000);
}

void append_value(std::string& out, const Field& field) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    append_json_string(out, *text);
  } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
    out += fmt::to_string(*number);
  } else {
    out += std::get<bool>(field.value) ? "true" : "false";
  }
}

}  // namespace

std::string format_json(std::int64_t at_us, Level level, std::string_view event,
                        std::initializer_list<Field> fields) {
  std::string line =
      fmt::format(R"({{"at":"{}","level":"{}","event":)", utc_text(at_us), name_of(level));
  append_json_string(line, event);
  for (const Field& field : fields) {
    line += ',';
    append_json_string(line, field.key);
    line += ':';
    append_value(line, field);
  }
  line += '}';
  return line;
}

std::string format_text(std::int64_t at_us, Level level, std::string_view event,
                        std::initializer_list<Field> fields) {
  std::string line =
      fmt::format("{} {:<7} {}", utc_text(at_us).substr(11, 12), name_of(level), event);
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field);
  }
  return line;
}

void set_level(Level level) { least_level.store(level, std::memory_order_relaxed); }

void set_sink(Sink sink) { other_sink.store(sink, std::memory_order_release); }

void log(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (level < least_level.load(std::memory_order_relaxed)) return;
  if (const Sink sink = other_sink.load(std::memory_order_acquire))
    return sink(level, event, fields);
  static const bool for_people = isatty(STDERR_FILENO) == 1;
  std::string line = for_people ? format_text(now_us(), level, event, fields)
                                : format_json(now_us(), level, event, fields);
  line += '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace dove::telemetry
