// How a record of any kind is laid out: kind, version, payload. For a closed list of payload types,
// so that a test can read and write records of other versions and kinds than the program's.
#pragma once

#include <cstdint>
#include <string_view>

#include "codec/bytes.h"
#include "codec/record_fields.h"

namespace dove::codec {

template <class Payload>
constexpr std::uint64_t version_at(std::int32_t level) {
  return layout_at(level, kind_of<Payload>().name, kind_of<Payload>().version);
}

template <class Payload>
void write_payload(ByteWriter& ar, const Payload& payload) {
  auto layout = ar.layout_given(version_at<Payload>(ar.level()));
  fields(ar, payload);
}

// Fills `payload` from bytes that hold it in `version`, older ones included.
template <class Payload>
void read_payload(ByteReader& ar, std::uint64_t version, Payload& payload) {
  constexpr KindInfo kind = kind_of<Payload>();
  ar.check_layout(version, kind.version, kind.name);
  if (ar.failed()) return;
  auto layout = ar.layout_given(version);
  fields(ar, payload);
}

// Makes `v` the alternative whose kind has `number` and reads it.
template <std::size_t I = 0, class Variant>
void read_alternative(ByteReader& ar, std::uint64_t number, std::uint64_t version, Variant& v) {
  if constexpr (I == std::variant_size_v<typename Variant::Kinds>) {
    ar.fail_kind(number);
  } else {
    using Payload = std::variant_alternative_t<I, typename Variant::Kinds>;
    if (number != kind_of<Payload>().number) {
      return read_alternative<I + 1>(ar, number, version, v);
    }
    read_payload(ar, version, v.template emplace<I>());
  }
}

}  // namespace dove::codec
