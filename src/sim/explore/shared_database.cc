#include "sim/explore/shared_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/append_check.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kLate_us = 10'000'000;  // as long as an append waits for its answer

Error unreachable() {
  return Error{ErrorKind::kUnavailable, "store_unreachable", "the database is not reached", ""};
}

Error unknown() {
  return Error{ErrorKind::kUnavailable, "commit_unknown", "the database did not answer", ""};
}

}  // namespace

// -- the database --------------------------------------------------------------------------------

void SharedDatabase::next_append(Fault fault, int times) {
  fault_ = fault;
  faults_ = times;
}

void SharedDatabase::fail_over() {
  settle(random_.below(2) == 0);
  ++incarnation_;
}

Result<void> SharedDatabase::commit(Epoch epoch, Seq expected_head, const store::Batch& batch) {
  settle(random_.below(2) == 0);
  TRY(records_.append(epoch, expected_head, batch));
  if (durable_) durable_(batch, /*is_late=*/false);
  tell_news();
  return {};
}

// What is under way holds the leader's row: whoever comes next waits for its end, or ends it.
void SharedDatabase::settle(bool happens) {
  if (!under_way_) return;
  const UnderWay late = *std::exchange(under_way_, std::nullopt);
  if (!happens || away_) return;
  if (!records_.append(late.epoch, late.expected_head, late.batch).ok()) return;
  if (durable_) durable_(late.batch, /*is_late=*/true);
  tell_news();
}

void SharedDatabase::tell_news() {
  for (SharedLog* each : open_) {
    if (each->news_ && each->reach().ok()) each->news_();
  }
}

// -- a process's way to it -----------------------------------------------------------------------

SharedLog::SharedLog(SharedDatabase& database, const bool& cut, std::string name, std::string url)
    : database_(database),
      cut_(cut),
      name_(std::move(name)),
      url_(std::move(url)),
      head_(database.records_.head()) {
  database_.open_.push_back(this);
}

SharedLog::~SharedLog() { std::erase(database_.open_, this); }

Result<void> SharedLog::reach() const {
  if (cut_ || database_.away_) return unreachable();
  return {};
}

Result<void> SharedLog::append(Epoch epoch, Seq expected_head, const store::Batch& batch) {
  using Fault = SharedDatabase::Fault;
  TRY(store::check_append(head_, newest_epoch_, epoch, expected_head, batch));
  if (!reach().ok() || incarnation_ != database_.incarnation_) return unknown();
  const Fault fault = database_.faults_ > 0 ? database_.fault_ : Fault::kNone;
  if (fault != Fault::kNone) --database_.faults_;
  if (fault == Fault::kFull) {
    return Error{ErrorKind::kExhausted, "disk_full", "the database's disk is full", ""};
  }
  if (fault != Fault::kNone) ++database_.unanswered_;
  if (fault == Fault::kNotDone) return unknown();
  if (fault == Fault::kDoneLater) {
    database_.under_way_ = SharedDatabase::UnderWay{epoch, expected_head, batch};
    database_.agenda_.in(static_cast<std::int64_t>(database_.random_.below(kLate_us)),
                         [&of = database_] { of.settle(/*happens=*/true); });
    return unknown();
  }
  TRY(database_.commit(epoch, expected_head, batch));
  if (fault == Fault::kDone) return unknown();
  head_ = database_.records_.head();
  return {};
}

Result<void> SharedLog::read(Seq after, const std::function<bool(const store::Batch&)>& visit) {
  TRY(reach());
  return database_.records_.read(after, visit);
}

Result<std::optional<std::string>> SharedLog::blob(const std::string& sha256) {
  TRY(reach());
  return database_.records_.blob(sha256);
}

std::int64_t SharedLog::left_us() const {
  std::int64_t until_us = database_.row_.until_us;
  if (database_.handed_.name != name_) until_us = std::max(until_us, database_.handed_.until_us);
  return std::max<std::int64_t>(until_us - database_.agenda_.now_us(), 0);
}

Result<Epoch> SharedLog::begin_epoch(const std::string& holder) {
  TRY(reach());
  const bool is_ours = newest_epoch_.value > 0 && newest_epoch_ == database_.epoch_;
  if (!is_ours && left_us() > 0) {
    return Error{ErrorKind::kConflict, "lease_held",
                 fmt::format("{} leads; its lease lasts for another {} ms unless it is renewed",
                             database_.row_.holder, left_us() / 1000),
                 ""};
  }
  database_.settle(database_.random_.below(2) == 0);
  TRY_ASSIGN(const Epoch begun, database_.keeper_.begin_epoch(holder));
  database_.epoch_ = begun;
  database_.row_ = {holder, url_, database_.agenda_.now_us() + database_.lease_us_};
  database_.handed_ = {};
  if (database_.term_) database_.term_(begun);
  database_.tell_news();
  if (std::exchange(database_.term_unanswered_, false)) return unknown();
  newest_epoch_ = epoch_ = begun;
  head_ = database_.records_.head();
  incarnation_ = database_.incarnation_;
  return begun;
}

Result<void> SharedLog::put_snapshot(const store::Snapshot& snapshot) {
  TRY(reach());
  return database_.keeper_.put_snapshot(snapshot);
}

Result<std::optional<store::Snapshot>> SharedLog::latest_snapshot() {
  TRY(reach());
  return database_.keeper_.latest_snapshot();
}

Result<void> SharedLog::forget_before(Seq before, const std::vector<std::string>& blobs_in_use) {
  TRY(reach());
  return database_.keeper_.forget_before(before, blobs_in_use);
}

Result<store::LeaderSeen> SharedLog::leader() {
  TRY(reach());
  return store::LeaderSeen{database_.epoch_, database_.row_.holder, database_.row_.url, left_us(),
                           database_.records_.head().seq};
}

Result<bool> SharedLog::renew() {
  TRY(reach());
  if (epoch_ != database_.epoch_) return false;
  database_.row_.until_us = database_.agenda_.now_us() + database_.lease_us_;
  if (std::exchange(database_.renewal_unanswered_, false)) return unknown();
  return true;
}

void SharedLog::release(const std::string& to) {
  const Epoch mine = std::exchange(epoch_, Epoch{});
  if (mine.value == 0 || !reach().ok() || mine != database_.epoch_) return;
  database_.row_.until_us = 0;
  database_.handed_ = {};
  if (!to.empty()) database_.handed_ = {to, database_.agenda_.now_us() + database_.lease_us_};
  database_.tell_news();
}

Result<void> SharedLog::stands_by(Seq folded, const std::string& says) {
  TRY(reach());
  database_.standbys_[name_] = {url_, folded, database_.agenda_.now_us(), says};
  return {};
}

Result<std::vector<store::ControllerSeen>> SharedLog::standbys() {
  TRY(reach());
  std::vector<store::ControllerSeen> all;
  for (const auto& [name, each] : database_.standbys_) {
    if (name == name_) continue;
    all.push_back({name, each.url, "", each.folded, database_.agenda_.now_us() - each.seen_us,
                   kNewestLevel, each.says});
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.ago_us < b.ago_us; });
  return all;
}

}  // namespace dove::sim
