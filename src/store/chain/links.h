// The links of a log's chain: made when a batch is written, verified when its rows are read.
//
// The stores that keep a chain share it, so that a log is the same log in each of them. What a row
// says besides its body is compared with the body. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/chain/chain.h"
#include "store/chain/record_columns.h"
#include "store/log_store.h"

namespace dove::store {

// Where a log, or the kept part of it, begins: the last record before it, and its chain.
struct Anchor {
  Seq seq;
  BatchNumber batch;
  Sha256 chain{};
};

BatchHeader header_of(const Batch& batch);
// The last record of the batch with that header.
inline Seq last_seq(const BatchHeader& header) {
  return Seq{header.first_seq + header.events + header.decisions - 1};
}

// What is stored of a record.
struct LinkedRecord {
  std::uint64_t seq = 0;
  bool is_decision = false;
  RecordColumns columns;
  std::string_view body;   // until the next one
  std::string_view chain;  // as body
};

// Extends `chain`, which holds the link before the batch, by the batch's own and by that of each
// record, which is given to `store`; ends with the first error of that.
Result<void> link_batch(Chain& hasher, Sha256& chain, const Batch& batch,
                        const std::function<Result<void>(const LinkedRecord&)>& store);

// What was read of a record.
struct RecordRow {
  std::uint64_t seq = 0;
  std::uint64_t batch = 0;
  bool is_decision = false;
  std::string_view kind;
  std::uint64_t job = 0;  // 0: null
  std::uint64_t node = 0;
  std::string_view body;
  std::string_view chain;
};

// Rows become batches: begin(), then for each batch begin_batch(), add() while it wants records,
// and end_batch(). Errors are kCorrupt `log_corrupt`, which names the seq and `remedy`, or
// kConflict `record_newer`.
class LinkReader {
 public:
  explicit LinkReader(std::string remedy) : remedy_(std::move(remedy)) {}

  void begin(const Anchor& before);
  Result<void> begin_batch(const BatchHeader& header);
  bool wants_record() const;
  // nullptr: there is no further row.
  Result<void> add(const RecordRow* row);
  Result<Batch> end_batch(std::string_view chain);

  // Where the last row that was read left it.
  Seq seq() const { return Seq{seq_}; }
  BatchNumber batch() const { return BatchNumber{batch_}; }
  const Sha256& chain() const { return chain_; }
  Error damaged(std::uint64_t seq, std::string_view what) const;

 private:
  Error unreadable(std::uint64_t seq, const Error& error) const;

  std::string remedy_;
  Chain hasher_;
  Sha256 chain_{};
  std::uint64_t seq_ = 0;
  std::uint64_t batch_ = 0;
  BatchHeader header_;
  Batch building_;
};

}  // namespace dove::store
