// LogPage: a stretch of a log as it is stored, on its way to a copy; SnapshotPiece: of a snapshot.
//
// Their bytes are written with codec/bytes.h. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/chain/links.h"
#include "store/log_store.h"

namespace dove::store {

// The columns of their tables.
struct PagedRecord {
  std::string kind;
  std::uint64_t job = 0;  // 0: null
  std::uint64_t node = 0;
  std::string body;
  std::string chain;
};

struct PagedBatch {
  BatchHeader header;
  std::string chain;
  std::vector<PagedRecord> records;
};

struct PagedTerm {
  Epoch epoch;
  std::string holder;
  Seq after;
};

struct LogPage {
  Seq head;  // where the log ends
  Anchor before;
  std::vector<PagedTerm> terms;
  std::vector<PagedBatch> batches;
};

struct SnapshotPiece {
  Head head;
  std::uint64_t state_hash = 0;
  std::string sha256;  // of the whole snapshot, 32 bytes
  std::uint64_t bytes_total = 0;
  std::string bytes;
};

std::string encode(const LogPage& page);
std::string encode(const SnapshotPiece& piece);
// Errors: kCorrupt `page_unreadable`.
Result<LogPage> decode_page(const std::string& bytes);
Result<SnapshotPiece> decode_snapshot_piece(const std::string& bytes);

// The batches of a page, each verified against the one before it. Errors: those of LinkReader.
Result<std::vector<Batch>> verified_batches(const LogPage& page);

// Its records as rows of the log, in order; ends with the first error of `visit`.
Result<void> each_record(const PagedBatch& batch,
                         const std::function<Result<void>(const LinkedRecord&)>& visit);

}  // namespace dove::store
