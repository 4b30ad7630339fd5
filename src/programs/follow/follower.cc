#include "programs/follow/follower.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "files/own_directory.h"
#include "programs/follow/copy_mark.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kPauseLeast_us = 250'000;
constexpr std::int64_t kPauseMost_us = 10'000'000;

Error with_remedy(Error error, const std::string& remedy) {
  error.message += ". " + remedy;
  return error;
}

}  // namespace

Result<std::unique_ptr<Follower>> Follower::open(const ServerSettings& settings,
                                                 std::function<void(const Error&)> on_end) {
  TRY_ASSIGN(const std::string token, follow_token(settings.follow));
  TRY(files::make_own_directory(settings.data_dir));
  store::SqliteOptions of_store;
  of_store.verifies_tail = false;  // recover() reads it
  TRY_ASSIGN(auto store,
             store::SqliteStore::open(settings.data_dir, store::OpenMode::kWrite, of_store));
  if (store->head().seq && copied_cluster(settings.data_dir).empty()) {
    return Error{ErrorKind::kConflict, "not_a_copy",
                 settings.data_dir +
                     " holds a log that is no copy: give a follower another directory with --data",
                 settings.data_dir};
  }
  std::unique_ptr<Follower> made(
      new Follower(settings, token, std::move(store), std::move(on_end)));
  TRY(made->ledger_.recover(*made->store_, *made->store_));
  made->standing_.kept = made->store_->head().seq;
  made->check_ = std::make_unique<LogCheck>(*made->store_, /*live=*/nullptr,
                                            blob_users(made->ledger_.state()), made->on_end_);
  made->thread_ = std::thread([&self = *made] { self.run(); });
  return made;
}

Follower::Follower(const ServerSettings& settings, const std::string& token,
                   std::unique_ptr<store::SqliteStore> store,
                   std::function<void(const Error&)> on_end)
    : urls_(settings.follow.urls),
      data_dir_(settings.data_dir),
      on_end_(std::move(on_end)),
      store_(std::move(store)),
      housekeeping_(*store_),
      client_(settings.follow, token),
      cluster_(copied_cluster(data_dir_)),
      jitter_(static_cast<std::uint64_t>(telemetry::now_us() ^ ::getpid())) {
  options_.records_kept = settings.log_kept.records;
  options_.records_age_max = settings.log_kept.age_max;
}

Follower::~Follower() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
  check_.reset();
  housekeeping_.finish_soon();
}

Follower::Standing Follower::standing() const {
  std::lock_guard lock(mutex_);
  return standing_;
}

void Follower::run() {
  for (;;) {
    const Result<void> done = step();
    std::unique_lock lock(mutex_);
    if (stops_) return;
    if (done.ok()) continue;
    if (!may_pass(done.error())) {
      // Another one may still be followed (in an upgrade they differ).
      refused_.insert(client_.url());
      if (refused_.size() == client_.count()) {
        lock.unlock();
        return on_end_(done.error());
      }
      client_.turn();
    }
    // All of them are asked before anybody waits.
    const int round = failures_++ / static_cast<int>(client_.count());
    if (failures_ % static_cast<int>(client_.count()) != 0) continue;
    is_away(done.error());
    const std::int64_t wait_us = std::min(kPauseLeast_us << std::min(round, 8), kPauseMost_us);
    const auto more_us =
        static_cast<std::int64_t>(jitter_.below(static_cast<std::uint64_t>(wait_us / 2)));
    wakes_.wait_for(lock, std::chrono::microseconds(wait_us / 2 + more_us),
                    [this] { return stops_; });
    if (stops_) return;
  }
}

Result<void> Follower::step() {
  const store::Head head = store_->head();
  store::Snapshot first;
  Result<store::LogPage> page = client_.page(head, standing().source == head.seq);
  const bool is_cut = !page.ok() && page.error().code == "records_forgotten";
  if (is_cut && head.seq) {
    return with_remedy(page.error(),
                       fmt::format("This copy ends at record {}, before what {} still keeps: give "
                                   "an empty directory with --data, to begin anew",
                                   head.seq.value, client_.url()));
  }
  if (is_cut) page = first_page(first);
  if (!page.ok()) return page.error();
  TRY(check_cluster());
  const Result<void> taken = take(*page, is_cut ? &first : nullptr);
  if (!taken.ok() && taken.error().code == "log_differs") {
    return with_remedy(
        taken.error(),
        fmt::format("If {0} was restored to an earlier moment, follow it anew with an empty "
                    "directory (--data); to go on from this copy instead, stop {0} and say `dove "
                    "restore --in-place --data {1}`",
                    client_.url(), data_dir_));
  }
  TRY(taken);
  has_followed(*page);
  return {};
}

// For a log that has lost its beginning: the newest snapshot, and from its last batch on.
Result<store::LogPage> Follower::first_page(store::Snapshot& first) {
  TRY_ASSIGN(first, client_.newest_snapshot());
  store::Head before;
  before.seq = Seq(first.head.seq.value - 1);
  Result<store::LogPage> page = client_.page(before, /*waits=*/false);
  const bool is_late = !page.ok() && page.error().code == "records_forgotten";
  if (is_late) return Error{ErrorKind::kUnavailable, "snapshot_gone", page.error().message, ""};
  return page;
}

Result<void> Follower::check_cluster() {
  if (cluster_.empty()) {
    cluster_ = client_.cluster();
    return mark_copy(data_dir_, cluster_, urls_);
  }
  if (cluster_ == client_.cluster()) return {};
  return Error{ErrorKind::kConflict, "cluster_differs",
               fmt::format("{} is the cluster {}, and {} holds a copy of the cluster {}: give "
                           "another directory with --data, or the URL of the other cluster",
                           client_.url(), client_.cluster(), data_dir_, cluster_),
               "--follow"};
}

Result<void> Follower::take(const store::LogPage& page, const store::Snapshot* first) {
  TRY_ASSIGN(std::vector<store::Batch> batches, store::verified_batches(page));
  TRY(bring_blobs(first, batches));
  TRY(store_->take(page, batches, first));
  if (first != nullptr) {
    TRY(ledger_.recover(*store_, *store_));
  } else if (!batches.empty()) {
    TRY(ledger_.follow(*store_));
  }
  if (ledger_.records_since_snapshot() >= options_.snapshot_every_records && housekeeping_.idle()) {
    housekeeping_.snapshot(ledger_, store_->head(), options_);
  }
  return {};
}

// What the jobs of these batches run, and those of the snapshot before them. What is here already
// comes along, too: retention may drop it meanwhile.
Result<void> Follower::bring_blobs(const store::Snapshot* first,
                                   std::vector<store::Batch>& batches) {
  std::map<std::string, store::Batch*> wanted;  // with the last batch that names it
  if (first != nullptr && !batches.empty()) {
    TRY_ASSIGN(const core::State state, controller::snapshot_state(*first));
    for (const std::string& digest : controller::blobs_in_use(state)) {
      wanted[digest] = &batches.front();
    }
  }
  for (store::Batch& batch : batches) {
    for (const StampedEvent& event : batch.events) {
      const auto* submitted = std::get_if<JobSubmitted>(&event.event);
      if (submitted != nullptr) wanted[submitted->spec->exec_digest] = &batch;
    }
  }
  std::set<std::string> lacking;
  for (const auto& [digest, batch] : wanted) {
    Result<std::optional<std::string>> own = store_->blob(digest);
    if (!own.ok() && own.error().kind != ErrorKind::kCorrupt) return own.error();
    if (own.ok() && own->has_value()) {
      batch->blobs.emplace_back(digest, std::move(**own));
    } else {
      lacking.insert(digest);
    }
  }
  TRY_ASSIGN(auto found, client_.blobs(std::move(lacking)));
  for (auto& [digest, bytes] : found) {
    if (!bytes.empty()) wanted.at(digest)->blobs.emplace_back(digest, std::move(bytes));
  }
  return {};
}

void Follower::has_followed(const store::LogPage& page) {
  std::lock_guard lock(mutex_);
  failures_ = 0;
  refused_.clear();
  const bool was_whole = standing_.whole_us != 0;
  const std::string before = std::exchange(followed_, client_.url());
  if (standing_.trouble || (!before.empty() && before != followed_)) {
    telemetry::log(telemetry::Level::kInfo, "follow_goes_on",
                   {{"url", followed_}, {"before", before}});
  }
  standing_.trouble.reset();
  standing_.kept = store_->head().seq;
  standing_.source = page.head;
  if (standing_.kept < standing_.source) return;
  standing_.whole_us = telemetry::monotonic_us();
  if (was_whole) return;
  telemetry::log(telemetry::Level::kInfo, "copy_is_whole",
                 {{"url", client_.url()}, {"records_to", standing_.kept.value}});
}

// Said once. REQUIRES: mutex_ is held.
void Follower::is_away(const Error& error) {
  if (!standing_.trouble) {
    telemetry::log(telemetry::Level::kWarning, "follow_waits",
                   {{"url", urls_}, {"code", error.code}, {"why", error.message}});
  }
  standing_.trouble = error;
}

}  // namespace dove::programs
