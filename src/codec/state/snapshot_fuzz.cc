// Any bytes: refused, or a state that is written as the same bytes again.
//
// seeds: tests/seeds/snapshots
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "codec/state/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto state = codec::decode_snapshot(bytes);
  if (!state.ok()) return 0;
  const std::string again = codec::encode_snapshot(*state);
  auto second = codec::decode_snapshot(again);
  CHECK(second.ok(), "what was encoded can be decoded");
  CHECK(codec::encode_snapshot(*second) == again, "as the same");
  return 0;
}
