#include "store/chain/log_page.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "codec/bytes.h"

namespace dove::store {

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PagedRecord>& v) {
  ar(v.kind, v.job, v.node, v.body, v.chain);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<BatchHeader>& v) {
  std::uint64_t hash = v.state_hash.value_or(0);
  bool has_hash = v.state_hash.has_value();
  ar(v.batch, v.epoch, v.at_us, v.first_seq, v.events, v.decisions, v.decisions_digest, has_hash,
     hash);
  if constexpr (Ar::kReads) {
    if (has_hash) v.state_hash = hash;
  }
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PagedBatch>& v) {
  ar(v.header, v.chain, v.records);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PagedTerm>& v) {
  ar(v.epoch, v.holder, v.after);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<LogPage>& v) {
  const auto layout = ar.layout(1, "LogPage");
  std::string chain(bytes_of(v.before.chain));
  ar(v.head, v.before.seq, v.before.batch, chain, v.terms, v.batches);
  if constexpr (Ar::kReads) v.before.chain = sha256_from(chain);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<SnapshotPiece>& v) {
  const auto layout = ar.layout(1, "SnapshotPiece");
  ar(v.head.seq, v.head.batch, v.head.epoch, v.head.at, v.head.chain_sha256, v.state_hash, v.sha256,
     v.bytes_total, v.bytes);
}

namespace {

template <class Value>
std::string encoded(const Value& value) {
  std::string bytes;
  codec::ByteWriter ar(bytes);
  ar(value);
  return bytes;
}

template <class Value>
Result<Value> decoded(const std::string& bytes) {
  Value value;
  codec::ByteReader ar(bytes);
  ar(value);
  if (!ar.failed() && ar.left() == 0) return value;
  return Error{
      ErrorKind::kCorrupt, "page_unreadable",
      fmt::format("what came of the log cannot be read{}: run the version of dove that the "
                  "source runs",
                  ar.failed() ? " (" + ar.error() + ")" : ""),
      ""};
}

}  // namespace

std::string encode(const LogPage& page) { return encoded(page); }
std::string encode(const SnapshotPiece& piece) { return encoded(piece); }
Result<LogPage> decode_page(const std::string& bytes) { return decoded<LogPage>(bytes); }
Result<SnapshotPiece> decode_snapshot_piece(const std::string& bytes) {
  return decoded<SnapshotPiece>(bytes);
}

Result<std::vector<Batch>> verified_batches(const LogPage& page) {
  LinkReader links("look at the log of the source with `dove doctor server --whole-log`");
  links.begin(page.before);
  std::vector<Batch> batches;
  for (const PagedBatch& paged : page.batches) {
    TRY(links.begin_batch(paged.header));
    for (const PagedRecord& record : paged.records) {
      if (!links.wants_record()) return links.damaged(links.seq().value + 1, "no batch has it");
      RecordRow row;
      row.seq = links.seq().value + 1;
      row.batch = paged.header.batch;
      row.is_decision = row.seq >= paged.header.first_seq + paged.header.events;
      row.kind = record.kind;
      row.job = record.job;
      row.node = record.node;
      row.body = record.body;
      row.chain = record.chain;
      TRY(links.add(&row));
    }
    if (links.wants_record()) return links.add(nullptr).error();
    TRY_ASSIGN(batches.emplace_back(), links.end_batch(paged.chain));
  }
  return batches;
}

namespace {

std::optional<std::uint64_t> unless_zero(std::uint64_t value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

}  // namespace

Result<void> each_record(const PagedBatch& batch,
                         const std::function<Result<void>(const LinkedRecord&)>& visit) {
  LinkedRecord linked;
  linked.seq = batch.header.first_seq;
  for (const PagedRecord& record : batch.records) {
    linked.is_decision = linked.seq >= batch.header.first_seq + batch.header.events;
    linked.columns = {record.kind, unless_zero(record.job), unless_zero(record.node)};
    linked.body = record.body;
    linked.chain = record.chain;
    TRY(visit(linked));
    ++linked.seq;
  }
  return {};
}

}  // namespace dove::store
