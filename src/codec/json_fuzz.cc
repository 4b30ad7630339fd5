// Any text: refused, or an object that is written and read again as the same.
//
// seeds: tests/seeds/native
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "codec/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto json = codec::parse_json(text, std::size_t{1} << 20);
  if (!json.ok()) return 0;
  (void)codec::dump_json(*json);
  if (auto got = codec::read_submission(*json); got.ok()) {
    auto again = codec::read_submission(codec::write_submission(*got));
    CHECK(again.ok(), "what was written can be read");
    CHECK(again->spec == got->spec, "the spec comes back as the same");
    CHECK(codec::encode_exec(again->exec) == codec::encode_exec(got->exec), "so does the rest");
  }
  if (auto got = codec::read_declared(*json); got.ok()) {
    auto again = codec::read_declared(codec::declared_json(*got));
    CHECK(again.ok() && *again == *got, "a declared object comes back as the same");
  }
  if (auto got = codec::read_inventory(*json); got.ok()) {
    auto again = codec::read_inventory(codec::inventory_json(*got));
    CHECK(again.ok() && *again == *got, "an inventory comes back as the same");
  }
  (void)codec::read_placement(*json);
  (void)codec::read_task_exit(*json);
  (void)codec::decode_exec(*json);
  return 0;
}
