#include "store/memory/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/append_check.h"

namespace dove::store {
namespace {

Error full_error() {
  return {ErrorKind::kExhausted, "disk_full", "the memory store was told to be full", ""};
}

}  // namespace

Head MemoryStore::head() const {
  std::lock_guard lock(mutex_);
  return head_;
}

void MemoryStore::set_full(bool full) {
  std::lock_guard lock(mutex_);
  full_ = full;
}

Result<void> MemoryStore::append(Epoch epoch, Seq expected_head, const Batch& batch) {
  std::lock_guard lock(mutex_);
  TRY(check_append(head_, newest_epoch_, epoch, expected_head, batch));
  if (full_) return full_error();
  for (const auto& [sha256, bytes] : batch.blobs) blobs_[sha256] = Blob{bytes, batch.first_seq};
  auto stored = std::make_shared<Batch>(batch);
  stored->blobs.clear();
  batches_.push_back(std::move(stored));
  head_ = Head{last_seq(batch), batch.number, batch.epoch, batch.at, ""};
  return {};
}

Result<void> MemoryStore::read(Seq after, const std::function<bool(const Batch&)>& visit) {
  std::vector<std::shared_ptr<const Batch>> batches;
  {
    std::lock_guard lock(mutex_);
    if (after < forgotten_) {
      return Error{ErrorKind::kNotFound, "records_forgotten",
                   fmt::format("records up to {} were dropped by retention; read after that",
                               forgotten_.value),
                   ""};
    }
    const auto first =
        std::partition_point(batches_.begin(), batches_.end(),
                             [&](const auto& batch) { return last_seq(*batch) <= after; });
    batches.assign(first, batches_.end());
  }
  for (const auto& batch : batches) {
    if (!visit(*batch)) break;
  }
  return {};
}

Result<std::optional<std::string>> MemoryStore::blob(const std::string& sha256) {
  std::lock_guard lock(mutex_);
  const auto found = blobs_.find(sha256);
  if (found == blobs_.end()) return std::optional<std::string>();
  return std::optional<std::string>(found->second.bytes);
}

Result<Epoch> MemoryStore::begin_epoch(const std::string& /*holder*/) {
  std::lock_guard lock(mutex_);
  return newest_epoch_ = Epoch{newest_epoch_.value + 1};
}

Result<void> MemoryStore::put_snapshot(const Snapshot& snapshot) {
  std::lock_guard lock(mutex_);
  if (full_) return full_error();
  if (snapshot.head.seq > head_.seq) {
    return Error{ErrorKind::kConflict, "snapshot_unknown_head",
                 fmt::format("a snapshot of record {} for a log that ends at {}",
                             snapshot.head.seq.value, head_.seq.value),
                 ""};
  }
  snapshots_.push_back(snapshot);
  if (snapshots_.size() > 2) snapshots_.pop_front();
  return {};
}

Result<std::optional<Snapshot>> MemoryStore::latest_snapshot() {
  std::lock_guard lock(mutex_);
  if (snapshots_.empty()) return std::optional<Snapshot>();
  return std::optional<Snapshot>(snapshots_.back());
}

Result<void> MemoryStore::forget_before(Seq before, const std::vector<std::string>& blobs_in_use) {
  std::lock_guard lock(mutex_);
  const Seq covered = snapshots_.empty() ? Seq{} : snapshots_.back().head.seq;
  if (before.value > covered.value + 1) {
    return Error{ErrorKind::kConflict, "not_covered",
                 fmt::format("records before {} cannot go: the newest snapshot covers up to {}",
                             before.value, covered.value),
                 ""};
  }
  while (!batches_.empty() && last_seq(*batches_.front()) < before) {
    forgotten_ = last_seq(*batches_.front());
    batches_.pop_front();
  }
  const std::set<std::string> in_use(blobs_in_use.begin(), blobs_in_use.end());
  std::erase_if(blobs_, [&](const auto& entry) {
    return entry.second.seq <= forgotten_ && !in_use.contains(entry.first);
  });
  return {};
}

}  // namespace dove::store
