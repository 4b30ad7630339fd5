// Any text: refused by either end, or a message that is written and read again as the same.
//
// seeds: tests/seeds/protocol
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "codec/json.h"
#include "protocol/control.h"
#include "protocol/link_words.h"
#include "protocol/orders.h"
#include "protocol/session.h"

namespace {

using Json = nlohmann::json;

template <class T>
void same(const Json& json, dove::Result<T> (*read)(const Json&), std::string (*write)(const T&)) {
  const dove::Result<T> first = read(json);
  if (!first.ok()) return;
  const std::string text = write(*first);
  const dove::Result<T> again = read(Json::parse(text));
  CHECK(again.ok(), "what was written can be read");
  CHECK(write(*again) == text, "it comes back as the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove::protocol;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = dove::codec::parse_json(text, std::size_t{1} << 20);
  if (!json.ok()) return 0;
  same(*json, read_order, order_line);
  same(*json, read_control, control_line);
  same(*json, read_report, report_text);
  same(*json, read_join, join_text);
  same(*json, read_sync, sync_text);
  same(*json, read_report_message, report_message_text);
  same(*json, read_sync_answer, sync_answer_text);
  (void)read_launch(*json);
  if (const auto word = read_link_word(text, std::size_t{1} << 20); word.ok()) {
    const auto again = read_link_word(link_word(*word), std::size_t{2} << 20);
    CHECK(again.ok() && link_word(*again) == link_word(*word), "a word comes back as the same");
  }
  return 0;
}
