#include "devices/id_list.h"

#include <fmt/format.h>

#include <charconv>

namespace dove::devices {

Result<std::vector<std::int32_t>> parse_id_list(const std::string& text) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto wrong = [&] {
    return Error{ErrorKind::kInvalid, "id_list",
                 fmt::format("'{}' is not a list of ids such as 0-3,8", text), ""};
  };
  while (at < end) {
    std::int32_t from = 0;
    auto [next, error] = std::from_chars(at, end, from);
    if (error != std::errc() || from < 0) return wrong();
    std::int32_t to = from;
    if (next < end && *next == '-') {
      auto [after, error2] = std::from_chars(next + 1, end, to);
      if (error2 != std::errc() || to < from || to - from > 65'536) return wrong();
      next = after;
    }
    for (std::int64_t id = from; id <= to; ++id) ids.push_back(static_cast<std::int32_t>(id));
    if (next < end && *next != ',') return wrong();
    at = next < end ? next + 1 : next;
  }
  return ids;
}

}  // namespace dove::devices
