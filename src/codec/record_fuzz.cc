// Any bytes: refused, or a record that is written and read again as the same.
//
// seeds: tests/seeds/records
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "codec/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto event = codec::decode_event(bytes); event.ok()) {
    std::string again;
    codec::encode(*event, again);
    auto second = codec::decode_event(again);
    CHECK(second.ok(), "what was encoded can be decoded");
    CHECK(second->event == event->event && second->cause == event->cause, "as the same");
  }
  if (auto decision = codec::decode_decision(bytes); decision.ok()) {
    std::string again;
    codec::encode(*decision, again);
    auto second = codec::decode_decision(again);
    CHECK(second.ok() && *second == *decision, "a decision comes back as the same");
  }
  return 0;
}
