// Structured logs: one line on stderr for each event, JSON, or text for people when it is a
// terminal.
//
//   log(Level::kInfo, "listening", {{"host", host}, {"port", port}});
//
// Thread-safe: each line is one write(2). Secrets are never given to it. A line that cannot be
// written is lost; logging never fails and never blocks on a lock.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace dove::telemetry {

enum class Level { kDebug, kInfo, kWarning, kError };

// A named value of a log line. It refers to its strings, which need to live only as long as the
// call of log() that it is written in.
struct Field {
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, bool v) : key(k), value(v) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Field(std::string_view k, T v) : key(k), value(static_cast<std::int64_t>(v)) {}

  std::string_view key;
  std::variant<std::string_view, std::int64_t, bool> value;
};

// Writes the event when `level` is at least the level set. `event` is stable and for machines
// (snake_case: "agent_lost").
void log(Level level, std::string_view event, std::initializer_list<Field> fields = {});

// Lines below `level` are dropped. kInfo at the start.
void set_level(Level level);

// Takes the lines in place of stderr, on whatever thread logs; nullptr: stderr again.
using Sink = void (*)(Level level, std::string_view event, std::initializer_list<Field> fields);
void set_sink(Sink sink);

// The line that log() writes, without its '\n'. `at_us`: microseconds since 1970 UTC.
std::string format_json(std::int64_t at_us, Level level, std::string_view event,
                        std::initializer_list<Field> fields);
std::string format_text(std::int64_t at_us, Level level, std::string_view event,
                        std::initializer_list<Field> fields);

}  // namespace dove::telemetry
