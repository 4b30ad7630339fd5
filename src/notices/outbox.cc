#include "notices/outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "notices/target.h"

namespace dove::notices {
namespace {

using Json = nlohmann::json;

constexpr Span kHour = seconds(3600);
constexpr Span kFirstTry = seconds(10);
constexpr Span kFirstOfHost = seconds(5);
constexpr Span kMostOfHost = seconds(600);
constexpr int kUnderWayMax = 2;  // of one user
constexpr std::size_t kSettledMax = 10'000;
constexpr std::size_t kErrorBytesMax = 300;

}  // namespace

Span Outbox::backoff(int tries, Span first, Span most) {
  const std::int64_t doubled = first.us << std::min(tries - 1, 20);
  const std::int64_t wait = std::min(doubled, most.us);
  const auto jitter =
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(wait) / 2));
  return Span{wait * 3 / 4 + jitter};
}

void Outbox::insert(Letter letter) {
  ++waiting_of_[letter.notice.user];
  lanes_[letter.lane].waiting.emplace(letter.next, letter.id);
  std::string id = letter.id;
  letters_.emplace(std::move(id), std::move(letter));
}

void Outbox::erase(const std::string& id) {
  const auto found = letters_.find(id);
  if (found == letters_.end()) return;
  const Letter& letter = found->second;
  if (const auto user = waiting_of_.find(letter.notice.user); --user->second == 0) {
    waiting_of_.erase(user);
  }
  const auto lane = lanes_.find(letter.lane);
  lane->second.waiting.erase({letter.next, id});
  if (lane->second.waiting.empty() && !lane->second.busy) lanes_.erase(lane);
  letters_.erase(found);
  settled_.insert(id);
  settled_order_.push_back(id);
  if (settled_order_.size() > kSettledMax) {
    settled_.erase(settled_order_.front());
    settled_order_.pop_front();
  }
}

bool Outbox::count_one(const std::string& user, Instant now) {
  std::deque<Instant>& lately = lately_[user];
  while (!lately.empty() && lately.front() + kHour <= now) lately.pop_front();
  if (static_cast<std::int64_t>(lately.size()) >= limits_.per_hour) return false;
  lately.push_back(now);
  return true;
}

Outbox::Added Outbox::add(Letter letter, Instant now) {
  if (letters_.contains(letter.id) || settled_.contains(letter.id)) return Added::kDouble;
  const auto of_user = waiting_of_.find(letter.notice.user);
  const std::size_t waits = of_user == waiting_of_.end() ? 0 : of_user->second;
  const bool fits = letters_.size() < limits_.waiting_max && waits < limits_.waiting_of_user_max;
  if (!fits || !count_one(letter.notice.user, now)) {
    ++standings_[letter.target_id].suppressed;
    return Added::kSuppressed;
  }
  insert(std::move(letter));
  return Added::kYes;
}

std::optional<Letter> Outbox::take(bool by_mail, Instant now) {
  for (auto& [name, lane] : lanes_) {
    if (is_mail(name) != by_mail || lane.busy || lane.not_before > now) continue;
    for (const auto& [next, id] : lane.waiting) {
      if (next > now) break;
      Letter& letter = letters_.at(id);
      int& of_user = under_way_[letter.notice.user];
      if (of_user >= kUnderWayMax) continue;
      ++of_user;
      lane.busy = true;
      ++letter.tries;
      lane.waiting.erase({next, id});
      return letter;
    }
  }
  return std::nullopt;
}

Outbox::Settled Outbox::settle(const std::string& id, const Attempted& result, Instant now) {
  const auto found = letters_.find(id);
  if (found == letters_.end()) return Settled::kUnknown;
  Letter& letter = found->second;
  if (const auto user = under_way_.find(letter.notice.user); --user->second == 0) {
    under_way_.erase(user);
  }
  Lane& lane = lanes_.at(letter.lane);
  lane.busy = false;
  lane.troubles = result.is_hosts_trouble ? lane.troubles + 1 : 0;
  lane.not_before =
      lane.troubles > 0 ? now + backoff(lane.troubles, kFirstOfHost, kMostOfHost) : Instant{};
  note(letter.target_id, result, now);
  switch (result.ending) {
    case Attempted::Ending::kDelivered:
      erase(id);
      return Settled::kDelivered;
    case Attempted::Ending::kRefused:
      erase(id);
      return Settled::kRefused;
    case Attempted::Ending::kRetry:
      break;
  }
  if (letter.made + limits_.give_up <= now) {
    erase(id);
    return Settled::kGivenUp;
  }
  letter.next = now + backoff(letter.tries, kFirstTry, kHour);
  lane.waiting.emplace(letter.next, id);
  return Settled::kRetried;
}

void Outbox::drop(const std::string& id) {
  const auto found = letters_.find(id);
  if (found == letters_.end()) return;
  if (const auto user = under_way_.find(found->second.notice.user);
      user != under_way_.end() && --user->second == 0) {
    under_way_.erase(user);
  }
  lanes_.at(found->second.lane).busy = false;
  erase(id);
}

Instant Outbox::next_due() const {
  Instant due = kNever;
  for (const auto& [name, lane] : lanes_) {
    if (lane.busy || lane.waiting.empty()) continue;
    due = std::min(due, std::max(lane.waiting.begin()->first, lane.not_before));
  }
  return due;
}

void Outbox::note(const std::string& target_id, const Attempted& result, Instant now) {
  TargetStanding& standing = standings_[target_id];
  if (result.ending == Attempted::Ending::kDelivered) {
    ++standing.delivered;
    standing.delivered_at = now;
    standing.error.clear();
    return;
  }
  standing.error =
      fmt::format("{}: {}", result.error.code, result.error.message).substr(0, kErrorBytesMax);
  standing.error_at = now;
}

const TargetStanding* Outbox::standing(const std::string& target_id) const {
  const auto found = standings_.find(target_id);
  return found == standings_.end() ? nullptr : &found->second;
}

std::size_t Outbox::waiting_for(const std::string& target_id) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      letters_, [&](const auto& entry) { return entry.second.target_id == target_id; }));
}

Instant Outbox::oldest() const {
  Instant oldest = kNever;
  for (const auto& [id, letter] : letters_) oldest = std::min(oldest, letter.made);
  return oldest;
}

Json Outbox::keep() const {
  Json letters = Json::array();
  for (const auto& [id, letter] : letters_) {
    letters.push_back(Json{{"id", id},
                           {"target", letter.target_id},
                           {"made_us", letter.made.us},
                           {"tries", letter.tries},
                           {"notice", notice_json(letter.notice)}});
  }
  Json targets = Json::object();
  for (const auto& [id, standing] : standings_) {
    targets[id] = Json{{"delivered", standing.delivered},
                       {"delivered_at_us", standing.delivered_at.us},
                       {"suppressed", standing.suppressed},
                       {"error", standing.error},
                       {"error_at_us", standing.error_at.us}};
  }
  return Json{{"waiting", std::move(letters)}, {"targets", std::move(targets)}};
}

void Outbox::restore(const Json& kept, const FindTarget& find, Instant now, Instant oldest) {
  for (const auto& [id, one] : kept.at("targets").items()) {
    TargetStanding& standing = standings_[id];
    standing.delivered = one.at("delivered").get<std::int64_t>();
    standing.delivered_at = Instant{one.at("delivered_at_us").get<std::int64_t>()};
    standing.suppressed = one.at("suppressed").get<std::int64_t>();
    standing.error = one.at("error").get<std::string>();
    standing.error_at = Instant{one.at("error_at_us").get<std::int64_t>()};
  }
  for (const Json& one : kept.at("waiting")) {
    Letter letter;
    letter.id = one.at("id").get<std::string>();
    letter.target_id = one.at("target").get<std::string>();
    letter.made = Instant{one.at("made_us").get<std::int64_t>()};
    letter.tries = one.at("tries").get<int>();
    Result<Notice> notice = read_notice(one.at("notice"));
    if (!notice.ok() || letter.made < oldest || letters_.contains(letter.id)) continue;
    letter.notice = std::move(notice).value();
    std::optional<NoticeTarget> target = find(letter.notice.user, letter.target_id);
    if (!target.has_value()) continue;
    letter.target = std::move(*target);
    letter.lane = lane_of(letter.target);
    letter.next = now;
    insert(std::move(letter));
  }
}

void Outbox::forget_targets_but(const std::set<std::string>& ids) {
  std::erase_if(standings_, [&](const auto& entry) { return !ids.contains(entry.first); });
  std::erase_if(lately_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace dove::notices
