#include "listener/refusals.h"

#include <chrono>

namespace dove::listener {
namespace {

constexpr std::chrono::seconds kEvery{2};
// Different ones at a time; of further ones only the code is kept.
constexpr std::size_t kDifferentMax = 100;

}  // namespace

void Refusals::note(const accounts::Caller& caller, std::string_view address,
                    std::string_view operation, const Error& why) {
  const bool is_refusal = why.kind == ErrorKind::kDenied || why.kind == ErrorKind::kUnauthenticated;
  if (!is_refusal || why.code == "token_missing") return;
  Key key{caller.user, std::string(address), std::string(operation), why.code};
  if (times_.size() >= kDifferentMax && !times_.contains(key)) key = Key{"", "", "", why.code};
  times_[key] += 1;
  if (!timer_.pending()) timer_ = loop_.after(kEvery, [this] { flush(); });
}

void Refusals::flush() {
  std::map<Key, std::int64_t> counted;
  counted.swap(times_);
  for (const auto& [key, times] : counted) {
    const auto& [who, address, operation, code] = key;
    write_(CallsRefused{who, address, operation, code, times});
  }
}

}  // namespace dove::listener
