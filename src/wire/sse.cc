#include "wire/sse.h"

#include <algorithm>
#include <utility>

namespace dove::wire {
namespace {

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  std::copy_if(value.begin(), value.end(), std::back_inserter(out),
               [](char c) { return c != '\n' && c != '\r' && c != '\0'; });
  out += '\n';
}

}  // namespace

std::string format_sse(const SseEvent& event) {
  std::string out;
  out.reserve(event.data.size() + event.id.size() + event.event.size() + 32);
  if (!event.id.empty()) append_field(out, "id", event.id);
  if (!event.event.empty()) append_field(out, "event", event.event);
  std::string_view rest = event.data;
  for (;;) {
    const std::size_t end = rest.find('\n');
    append_field(out, "data", rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  out += '\n';
  return out;
}

std::string format_sse_comment(std::string_view text) {
  std::string out;
  append_field(out, "", text);
  out += '\n';
  return out;
}

std::optional<SseEvent> SseParser::feed_line(std::string_view line) {
  if (line.empty()) {
    std::optional<SseEvent> event;
    if (has_data_) event = SseEvent{last_event_id_, std::move(event_), std::move(data_)};
    event_.clear();
    data_.clear();
    has_data_ = false;
    return event;
  }
  if (line.front() == ':') return std::nullopt;
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (has_data_ && data_.size() < kDataBytesMax) data_ += '\n';
    data_ += value.substr(0, kDataBytesMax - std::min(data_.size(), kDataBytesMax));
    has_data_ = true;
  } else if (name == "event") {
    event_ = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    last_event_id_ = value;
  }
  return std::nullopt;
}

}  // namespace dove::wire
