#include "listener/blobs.h"

#include "telemetry/log.h"

namespace dove::listener {

void Blobs::put(const std::string& sha256, std::string bytes) {
  const auto found = held_.find(sha256);
  if (found != held_.end()) {
    newest_first_.splice(newest_first_.begin(), newest_first_, found->second.used);
    return;
  }
  bytes_ += bytes.size();
  newest_first_.push_front(sha256);
  held_[sha256] =
      Held{std::make_shared<const std::string>(std::move(bytes)), newest_first_.begin()};
  while (bytes_ > kBytesMax && newest_first_.size() > 1) {
    const auto oldest = held_.find(newest_first_.back());
    bytes_ -= oldest->second.bytes->size();
    held_.erase(oldest);
    newest_first_.pop_back();
  }
}

std::shared_ptr<const std::string> Blobs::find(const std::string& sha256) {
  const auto found = held_.find(sha256);
  if (found != held_.end()) {
    newest_first_.splice(newest_first_.begin(), newest_first_, found->second.used);
    return found->second.bytes;
  }
  Result<std::optional<std::string>> stored = log_.blob(sha256);
  if (!stored.ok() || !stored->has_value()) {
    telemetry::log(telemetry::Level::kError, "blob_missing",
                   {{"sha256", sha256}, {"why", stored.ok() ? "" : stored.error().message}});
    return nullptr;
  }
  put(sha256, std::move(**stored));
  return held_.at(sha256).bytes;
}

}  // namespace dove::listener
