#include "listener/blobs.h"

#include <algorithm>
#include <utility>

#include "listener/log_thread.h"
#include "telemetry/log.h"

namespace dove::listener {
namespace {

constexpr std::chrono::milliseconds kAgain{250};
constexpr std::int64_t kUnreadable_us = 1'000'000;
constexpr std::size_t kMissingMax = 1000;

Error missing(const std::string& sha256) {
  return {ErrorKind::kNotFound, "blob_missing",
          "what the job runs (blob " + sha256 + ") is not in the store: see `dove doctor`", ""};
}

void log_missing(const std::string& sha256, const Result<std::optional<std::string>>& stored) {
  telemetry::log(telemetry::Level::kError, "blob_missing",
                 {{"sha256", sha256}, {"why", stored.ok() ? "" : stored.error().message}});
}

}  // namespace

class Blobs::Reader {
 public:
  using Bytes = Result<std::optional<std::string>>;
  Reader(wire::Loop& loop, store::LogStore& log,
         std::function<void(const std::string&, Bytes)> done)
      : done_(std::move(done)), log_(loop, log, /*aside=*/true) {}

  void want(const std::string& sha256) {
    const auto bytes = std::make_shared<Bytes>(Error{});
    log_.ask([sha256, bytes](store::LogStore& log) { *bytes = log.blob(sha256); },
             [this, sha256, bytes] { done_(sha256, std::move(*bytes)); });
  }

 private:
  const std::function<void(const std::string&, Bytes)> done_;
  LogThread log_;
};

Blobs::Blobs(wire::Loop& loop, store::LogStore& log, bool aside) : loop_(loop), log_(log) {
  if (!aside) return;
  reader_ = std::make_unique<Reader>(
      loop, log, [this](const std::string& sha256, Result<std::optional<std::string>> bytes) {
        read(sha256, std::move(bytes));
      });
}

Blobs::~Blobs() = default;

Error Blobs::later() {
  return {ErrorKind::kUnavailable, "blob_later",
          "what the job runs is still being read from the store; try again", ""};
}

void Blobs::put(const std::string& sha256, std::string bytes) {
  const auto found = held_.find(sha256);
  if (found != held_.end()) {
    newest_first_.splice(newest_first_.begin(), newest_first_, found->second.used);
    return;
  }
  missing_.erase(sha256);
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

Blobs::Bytes Blobs::held(const std::string& sha256) {
  const auto found = held_.find(sha256);
  if (found == held_.end()) return nullptr;
  newest_first_.splice(newest_first_.begin(), newest_first_, found->second.used);
  return found->second.bytes;
}

Result<Blobs::Bytes> Blobs::find(const std::string& sha256) {
  if (Bytes bytes = held(sha256)) return bytes;
  if (is_missing(sha256)) return missing(sha256);
  if (reader_ != nullptr) {
    want(sha256);
    return later();
  }
  Result<std::optional<std::string>> stored = log_.blob(sha256);
  if (!stored.ok() || !stored->has_value()) {
    log_missing(sha256, stored);
    return missing(sha256);
  }
  put(sha256, std::move(**stored));
  return held(sha256);
}

bool Blobs::is_missing(const std::string& sha256) {
  const auto found = missing_.find(sha256);
  if (found == missing_.end()) return false;
  if (found->second > loop_.monotonic_us()) return true;
  missing_.erase(found);
  return false;
}

void Blobs::want(const std::string& sha256) {
  if (wanted_.insert(sha256).second) reader_->want(sha256);
}

void Blobs::read(const std::string& sha256, Result<std::optional<std::string>> bytes) {
  wanted_.erase(sha256);
  const bool is_damaged = !bytes.ok() && bytes.error().kind == ErrorKind::kCorrupt;
  // A disk that cannot read it now may do so later, but orders of all nodes would wait.
  const bool is_unreadable = !bytes.ok() && bytes.error().kind == ErrorKind::kInternal;
  if (bytes.ok() && bytes->has_value()) {
    put(sha256, std::move(**bytes));
    return known(sha256, held(sha256));
  }
  if (bytes.ok() || is_damaged || is_unreadable) {
    log_missing(sha256, bytes);
    if (missing_.size() >= kMissingMax) missing_.clear();
    missing_[sha256] = is_unreadable ? loop_.monotonic_us() + kUnreadable_us : INT64_MAX;
    return known(sha256, nullptr);
  }
  telemetry::log(telemetry::Level::kWarning, "blob_unread",
                 {{"sha256", sha256}, {"why", bytes.error().message}});
  if (!again_.pending()) again_ = loop_.after(kAgain, [this] { look(); });
}

void Blobs::fetch(const std::vector<std::string>& sha256s, std::chrono::milliseconds at_most,
                  std::function<void(Result<Found>)> done) {
  auto wish = std::make_shared<Wish>();
  for (const std::string& sha256 : sha256s) {
    const Result<Bytes> bytes = find(sha256);
    if (bytes.ok()) {
      wish->found[sha256] = *bytes;
    } else if (bytes.error().kind == ErrorKind::kUnavailable) {
      wish->lacks.insert(sha256);
    }
  }
  if (wish->lacks.empty()) return done(std::move(wish->found));
  wish->until_us = at_most == kForever
                       ? INT64_MAX
                       : loop_.monotonic_us() + std::chrono::microseconds(at_most).count();
  wish->done = std::move(done);
  wishes_.push_back(std::move(wish));
  if (!again_.pending()) again_ = loop_.after(kAgain, [this] { look(); });
}

bool Blobs::has_all(const std::vector<std::string>& sha256s, const Found& found) {
  if (reader_ == nullptr) return true;  // nothing has happened meanwhile
  return std::all_of(sha256s.begin(), sha256s.end(), [&](const std::string& sha256) {
    if (found.contains(sha256)) return true;
    const Result<Bytes> bytes = find(sha256);
    return !bytes.ok() && bytes.error().kind == ErrorKind::kNotFound;
  });
}

void Blobs::forget_fetches() {
  wishes_.clear();
  again_.cancel();
}

// Those who wait for it, in the order in which they came.
void Blobs::known(const std::string& sha256, const Bytes& bytes) {
  std::vector<std::shared_ptr<Wish>> fulfilled;
  for (auto it = wishes_.begin(); it != wishes_.end();) {
    const std::shared_ptr<Wish>& wish = *it;
    if (wish->lacks.erase(sha256) != 0 && bytes != nullptr) wish->found[sha256] = bytes;
    if (!wish->lacks.empty()) {
      ++it;
      continue;
    }
    fulfilled.push_back(wish);
    it = wishes_.erase(it);
  }
  for (const auto& wish : fulfilled) wish->done(std::move(wish->found));
}

// What could not be read is tried again, and whoever has waited for long enough is told.
void Blobs::look() {
  std::vector<std::shared_ptr<Wish>> over;
  for (auto it = wishes_.begin(); it != wishes_.end();) {
    if ((*it)->until_us <= loop_.monotonic_us()) {
      over.push_back(*it);
      it = wishes_.erase(it);
      continue;
    }
    for (const std::string& sha256 : (*it)->lacks) want(sha256);
    ++it;
  }
  if (!wishes_.empty()) again_ = loop_.after(kAgain, [this] { look(); });
  for (const auto& wish : over) wish->done(later());
}

}  // namespace dove::listener
