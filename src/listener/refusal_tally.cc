#include "listener/refusal_tally.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace dove::listener {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLastMax = 5;
constexpr std::size_t kWordMax_bytes = 64;
constexpr std::int64_t kLastKept_us = 3'600'000'000;

bool is_same(const CallsRefused& one, const CallsRefused& other) {
  return one.who == other.who && one.address == other.address && one.operation == other.operation &&
         one.code == other.code;
}

std::string text_of(const RefusalsSaid& said) {
  Json last = Json::array();
  for (const RefusalsSaid::Last& one : said.last) {
    last.push_back({{"who", one.calls.who},
                    {"address", one.calls.address},
                    {"operation", one.calls.operation},
                    {"code", one.calls.code},
                    {"times", one.calls.times},
                    {"ago_ms", one.ago_ms}});
  }
  const Json all{{"calls", said.calls}, {"handshakes", said.handshakes}, {"last", std::move(last)}};
  std::string text = all.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  // Those left are within strings.
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at)) {
    text.replace(at, 1, "\\u0020");
  }
  return text;
}

}  // namespace

RefusalTally::RefusalTally(std::function<std::int64_t()> handshakes,
                           std::function<std::int64_t()> monotonic_us)
    : handshakes_(std::move(handshakes)), monotonic_us_(std::move(monotonic_us)) {}

void RefusalTally::note(const CallsRefused& refused) {
  Noted noted{refused, monotonic_us_()};
  for (std::string* word :
       {&noted.calls.who, &noted.calls.address, &noted.calls.operation, &noted.calls.code}) {
    if (word->size() > kWordMax_bytes) word->resize(kWordMax_bytes);
  }
  const std::lock_guard lock(mutex_);
  calls_ += refused.times;
  const auto before = std::ranges::find_if(
      last_, [&](const Noted& each) { return is_same(each.calls, noted.calls); });
  if (before != last_.end()) {
    if (noted.at_us - before->at_us <= kLastKept_us) noted.calls.times += before->calls.times;
    last_.erase(before);
  }
  last_.insert(last_.begin(), std::move(noted));
  if (last_.size() > kLastMax) last_.pop_back();
}

RefusalsSaid RefusalTally::said() const {
  RefusalsSaid said;
  said.handshakes = handshakes_();
  const std::int64_t now_us = monotonic_us_();
  const std::lock_guard lock(mutex_);
  said.calls = calls_;
  for (const Noted& each : last_) {
    const std::int64_t ago_us = now_us - each.at_us;
    if (ago_us <= kLastKept_us) said.last.push_back({each.calls, ago_us / 1'000});
  }
  return said;
}

std::string write_refusals(RefusalsSaid said, std::size_t size_max) {
  if (said.calls == 0 && said.handshakes == 0) return "";
  std::string text = text_of(said);
  while (text.size() > size_max && !said.last.empty()) {
    said.last.pop_back();
    text = text_of(said);
  }
  return text;
}

RefusalsSaid read_refusals(std::string_view text) {
  if (text.empty()) return {};
  RefusalsSaid said;
  try {
    const Json all = Json::parse(text);
    said.calls = all.at("calls").get<std::int64_t>();
    said.handshakes = all.at("handshakes").get<std::int64_t>();
    for (const Json& one : all.at("last")) {
      if (said.last.size() >= kLastMax) break;
      said.last.push_back({{one.at("who").get<std::string>(), one.at("address").get<std::string>(),
                            one.at("operation").get<std::string>(),
                            one.at("code").get<std::string>(), one.at("times").get<std::int64_t>()},
                           one.at("ago_ms").get<std::int64_t>()});
    }
  } catch (const Json::exception&) {
    return {};
  }
  return said;
}

}  // namespace dove::listener
