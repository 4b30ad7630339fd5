#include "codec/record.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "codec/record_shape.h"

namespace dove::codec {
namespace {

// The envelope: a mask of the fields that are not empty, then those. New fields get new bits.
enum CauseBit : std::uint64_t {
  kPrincipal = 1,
  kProject = 2,
  kQueue = 4,
  kRequestId = 8,
  kCauseSeq = 16,
  kIdempotencyKey = 32,
  kBodySha256 = 64,
  kDomain = 128,
  kAllBits = 255,
};

std::uint64_t bit_if(bool present, std::uint64_t bit) { return present ? bit : 0; }

template <class Ar>
void masked_fields(Ar& ar, typename Ar::template Of<Cause>& v, std::uint64_t mask) {
  if (mask & kPrincipal) ar(v.principal);
  if (mask & kProject) ar(v.project);
  if (mask & kQueue) ar(v.queue);
  if (mask & kRequestId) ar(v.request_id);
  if (mask & kCauseSeq) ar(v.cause);
  if (mask & kIdempotencyKey) ar(v.idempotency_key);
  if (mask & kBodySha256) ar(v.body_sha256);
  if (mask & kDomain) ar(v.domain);
}

void write_cause(ByteWriter& ar, const Cause& v) {
  const std::uint64_t mask =
      bit_if(!v.principal.empty(), kPrincipal) | bit_if(!v.project.empty(), kProject) |
      bit_if(!v.queue.empty(), kQueue) | bit_if(!v.request_id.empty(), kRequestId) |
      bit_if(v.cause.value != 0, kCauseSeq) | bit_if(!v.idempotency_key.empty(), kIdempotencyKey) |
      bit_if(!v.body_sha256.empty(), kBodySha256) | bit_if(!v.domain.empty(), kDomain);
  ar.varint(mask);
  masked_fields(ar, v, mask);
}

void read_cause(ByteReader& ar, Cause& v) {
  const std::uint64_t mask = ar.varint();
  if (mask > kAllBits) return ar.fail_layout(mask, kAllBits, "the envelope");
  masked_fields(ar, v, mask);
}

template <class Variant>
void write_kind(ByteWriter& ar, const Variant& v) {
  std::visit(
      [&]<class Payload>(const Payload&) {
        ar.varint(kind_of<Payload>().number);
        ar.varint(version_at<Payload>(ar.level()));
      },
      v);
}

Result<void> finish(ByteReader& ar) {
  if (!ar.failed() && ar.left() > 0) ar.fail("bytes are left after its end");
  if (!ar.failed()) return {};
  if (ar.newer()) {
    return Error{
        ErrorKind::kCorrupt, "record_newer",
        fmt::format("a record was written by a newer version of dove: {}; run that version "
                    "or a later one on this data",
                    ar.error()),
        ""};
  }
  return Error{ErrorKind::kCorrupt, "record_damaged",
               fmt::format("a record cannot be read: {}", ar.error()), ""};
}

}  // namespace

void encode(const StampedEvent& event, std::string& out, std::int32_t level) {
  ByteWriter ar(out, level);
  write_kind(ar, event.event);
  write_cause(ar, event.cause);
  std::visit([&](const auto& payload) { write_payload(ar, payload); }, event.event);
}

void encode(const Decision& decision, std::string& out, std::int32_t level) {
  ByteWriter ar(out, level);
  write_kind(ar, decision);
  std::visit([&](const auto& payload) { write_payload(ar, payload); }, decision);
}

Result<StampedEvent> decode_event(std::string_view bytes, std::int32_t level) {
  ByteReader ar(bytes, level);
  StampedEvent event;
  const std::uint64_t number = ar.varint();
  const std::uint64_t version = ar.varint();
  read_cause(ar, event.cause);
  if (!ar.failed()) read_alternative(ar, number, version, event.event);
  TRY(finish(ar));
  return event;
}

Result<Decision> decode_decision(std::string_view bytes, std::int32_t level) {
  ByteReader ar(bytes, level);
  Decision decision;
  const std::uint64_t number = ar.varint();
  const std::uint64_t version = ar.varint();
  if (!ar.failed()) read_alternative(ar, number, version, decision);
  TRY(finish(ar));
  return decision;
}

StampedEvent at_level(const StampedEvent& event, std::int32_t level) {
  std::string bytes;
  encode(event, bytes, level);
  Result<StampedEvent> read = decode_event(bytes);
  CHECK(read.ok(), "what is written at any level is read back");
  return std::move(read).value();
}

std::uint64_t digest_decisions(std::span<const Decision> decisions, std::int32_t level) {
  Digest digest;
  std::string bytes;
  for (const Decision& decision : decisions) {
    bytes.clear();
    encode(decision, bytes, level);
    digest.add(bytes);
  }
  return digest.value();
}

std::string_view kind_name(const Event& event) {
  return std::visit([]<class P>(const P&) { return kind_of<P>().name; }, event);
}

std::string_view kind_name(const Decision& decision) {
  return std::visit([]<class P>(const P&) { return kind_of<P>().name; }, decision);
}

}  // namespace dove::codec
