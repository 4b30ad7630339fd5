#include "store/chain/links.h"

#include <fmt/format.h>

#include <utility>

#include "codec/record.h"

namespace dove::store {

BatchHeader header_of(const Batch& batch) {
  return {batch.number.value,     batch.epoch.value,   batch.at.us,
          batch.first_seq.value,  batch.events.size(), batch.decisions.size(),
          batch.decisions_digest, batch.state_hash};
}

Result<void> link_batch(Chain& hasher, Sha256& chain, const Batch& batch,
                        const std::function<Result<void>(const LinkedRecord&)>& store) {
  chain = hasher.link(chain, header_of(batch));
  LinkedRecord linked;
  linked.seq = batch.first_seq.value;
  std::string body;
  const auto add = [&](const auto& record, const RecordColumns& columns) -> Result<void> {
    body.clear();
    codec::encode(record, body, batch.level);
    chain = hasher.link(chain, linked.seq, linked.is_decision, body);
    linked.columns = columns;
    linked.body = body;
    linked.chain = bytes_of(chain);
    TRY(store(linked));
    ++linked.seq;
    return {};
  };
  for (const StampedEvent& event : batch.events) TRY(add(event, columns_of(event.event)));
  linked.is_decision = true;
  for (const Decision& decision : batch.decisions) TRY(add(decision, columns_of(decision)));
  return {};
}

Error LinkReader::damaged(std::uint64_t seq, std::string_view what) const {
  return Error{ErrorKind::kCorrupt, "log_corrupt",
               fmt::format("record {} of the log: {}; nothing was dropped: {}, see "
                           "docs/operate/recovery.md, and compare with `dove replay --verify`",
                           seq, what, remedy_),
               fmt::format("seq {}", seq)};
}

// Nothing is wrong with it but that it is read by an older program.
Error LinkReader::unreadable(std::uint64_t seq, const Error& error) const {
  if (error.code != "record_newer") return damaged(seq, error.message);
  return Error{ErrorKind::kConflict, error.code,
               fmt::format("record {} of the log: {}", seq, error.message),
               fmt::format("seq {}", seq)};
}

void LinkReader::begin(const Anchor& before) {
  chain_ = before.chain;
  seq_ = before.seq.value;
  batch_ = before.batch.value;
}

Result<void> LinkReader::begin_batch(const BatchHeader& header) {
  if (header.batch != batch_ + 1) {
    return damaged(seq_ + 1, fmt::format("batch {} is missing", batch_ + 1));
  }
  if (header.first_seq != seq_ + 1) {
    return damaged(seq_ + 1, fmt::format("batch {} does not begin with it", header.batch));
  }
  header_ = header;
  building_ = Batch();
  building_.number = BatchNumber{header.batch};
  building_.epoch = Epoch{header.epoch};
  building_.at = Instant{header.at_us};
  building_.first_seq = Seq{header.first_seq};
  building_.decisions_digest = header.decisions_digest;
  building_.state_hash = header.state_hash;
  chain_ = hasher_.link(chain_, header);
  batch_ = header.batch;
  return {};
}

bool LinkReader::wants_record() const {
  return building_.events.size() < header_.events || building_.decisions.size() < header_.decisions;
}

Result<void> LinkReader::add(const RecordRow* row) {
  const bool is_decision = building_.events.size() == header_.events;
  const std::uint64_t seq = seq_ + 1;
  if (row == nullptr || row->seq != seq) return damaged(seq, "it is missing");
  chain_ = hasher_.link(chain_, seq, is_decision, row->body);
  seq_ = seq;
  if (bytes_of(chain_) != row->chain) {
    return damaged(seq, fmt::format("it, or the row of its batch {}, was changed", batch_));
  }
  RecordColumns columns;
  if (is_decision) {
    auto decision = codec::decode_decision(row->body);
    if (!decision.ok()) return unreadable(seq, decision.error());
    columns = columns_of(*decision);
    building_.decisions.push_back(std::move(decision).value());
  } else {
    auto event = codec::decode_event(row->body);
    if (!event.ok()) return unreadable(seq, event.error());
    columns = columns_of(event->event);
    building_.events.push_back(std::move(event).value());
  }
  const bool same = row->batch == batch_ && row->is_decision == is_decision &&
                    row->kind == columns.kind && row->job == columns.job.value_or(0) &&
                    row->node == columns.node.value_or(0);
  if (!same) return damaged(seq, "a column of its row was changed");
  return {};
}

Result<Batch> LinkReader::end_batch(std::string_view chain) {
  if (bytes_of(chain_) != chain) {
    return damaged(seq_, fmt::format("the row of its batch {} was changed", batch_));
  }
  return std::move(building_);
}

}  // namespace dove::store
