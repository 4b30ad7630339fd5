#include "controller/idempotency.h"

#include "codec/bytes.h"

namespace dove::controller {
namespace {

constexpr Span kKept = seconds(24 * 3600);

Error unreadable_keys() {
  return {ErrorKind::kCorrupt, "snapshot_damaged",
          "the idempotency keys of the snapshot cannot be read; restore the data directory from a "
          "backup",
          ""};
}

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
  if (ar.failed() || ar.left() != 0) return unreadable_keys();
  return {};
}

// In the order of the keys.
void Idempotency::encode_warnings(std::string& out) const {
  codec::ByteWriter ar(out);
  ar.varint(oldest_first_.size());
  for (const Key& key : oldest_first_) {
    const Entry& entry = entries_.at(key);
    ar(entry.warnings.has_value());
    if (entry.warnings.has_value()) ar(*entry.warnings);
  }
}

Result<void> Idempotency::decode_warnings(std::string_view bytes) {
  codec::ByteReader ar(bytes);
  if (ar.varint() != oldest_first_.size()) return unreadable_keys();
  for (const Key& key : oldest_first_) {
    bool is_known = false;
    std::vector<std::string> warnings;
    ar(is_known);
    if (is_known) ar(warnings);
    if (ar.failed()) return unreadable_keys();
    if (is_known) entries_.at(key).warnings = std::move(warnings);
  }
  if (ar.left() != 0) return unreadable_keys();
  return {};
}

}  // namespace dove::controller
