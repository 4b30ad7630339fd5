#include "controller/idempotency.h"

#include "codec/bytes.h"

namespace dove::controller {
namespace {

constexpr Span kKept = seconds(24 * 3600);

}  // namespace

const Idempotency::Entry* Idempotency::find(const Cause& cause) const {
  if (cause.idempotency_key.empty()) return nullptr;
  const auto found = entries_.find({cause.principal, cause.idempotency_key});
  return found == entries_.end() ? nullptr : &found->second;
}

void Idempotency::remember(const Cause& cause, Entry entry) {
  if (cause.idempotency_key.empty()) return;
  const Instant now = entry.at;
  const Key key{cause.principal, cause.idempotency_key};
  if (entries_.try_emplace(key, std::move(entry)).second) oldest_first_.push_back(key);
  forget_old(now);
}

void Idempotency::keep_warnings(const Cause& cause, const std::vector<std::string>& warnings) {
  const auto found = entries_.find({cause.principal, cause.idempotency_key});
  if (found != entries_.end()) found->second.warnings = warnings;
}

void Idempotency::forget_old(Instant now) {
  while (!oldest_first_.empty()) {
    const auto oldest = entries_.find(oldest_first_.front());
    const bool expired = now - oldest->second.at > kKept;
    if (!expired && entries_.size() <= kEntriesMax) return;
    entries_.erase(oldest);
    oldest_first_.pop_front();
  }
}

void Idempotency::encode(std::string& out) const {
  codec::ByteWriter ar(out);
  ar.varint(oldest_first_.size());
  for (const Key& key : oldest_first_) {
    const Entry& entry = entries_.at(key);
    ar(key.first, key.second, entry.body_sha256, entry.first_job, entry.jobs, entry.at);
  }
}

Result<void> Idempotency::decode(std::string_view bytes) {
  entries_.clear();
  oldest_first_.clear();
  codec::ByteReader ar(bytes);
  const std::uint64_t count = ar.varint();
  for (std::uint64_t i = 0; i < count && !ar.failed(); ++i) {
    Key key;
    Entry entry;
    ar(key.first, key.second, entry.body_sha256, entry.first_job, entry.jobs, entry.at);
    if (entries_.try_emplace(key, std::move(entry)).second) oldest_first_.push_back(key);
  }
  if (ar.failed() || ar.left() != 0) {
    return Error{ErrorKind::kCorrupt, "snapshot_damaged",
                 "the idempotency keys of the snapshot cannot be read; restore the data directory "
                 "from a backup",
                 ""};
  }
  return {};
}

}  // namespace dove::controller
