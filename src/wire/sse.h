// Server-sent events: text of an event, and events from lines.
//
// Pure values; no sockets, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dove::wire {

struct SseEvent {
  std::string id;     // empty: not sent; when parsed, the last id seen
  std::string event;  // empty: not sent (a "message")
  std::string data;   // may hold '\n'
};

// The event's lines with the empty line that ends it. Newlines in id and event are dropped.
std::string format_sse(const SseEvent& event);
// A comment, which clients skip: keeps a silent connection alive.
std::string format_sse_comment(std::string_view text);

class SseParser {
 public:
  // Takes one line without its end; gives an event at the empty line that completes one that has
  // data. Data beyond kDataBytesMax of one event is cut.
  std::optional<SseEvent> feed_line(std::string_view line);
  const std::string& last_event_id() const { return last_event_id_; }

  static constexpr std::size_t kDataBytesMax = 64 * 1024 * 1024;

 private:
  std::string last_event_id_;
  std::string event_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace dove::wire
