#include "core/executors/placeholder_news.h"

#include <fmt/format.h>

#include <set>

#include "core/state/executors/core_numbers.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/given_cores.h"
#include "core/state/executors/placeholders.h"

namespace dove::core {
namespace {

// How long a placement waits for another one's end. Reports of it are seconds behind.
constexpr Span kPinned_for = seconds(30);

class PlaceholderNews {
 public:
  PlaceholderNews(const State& state, const std::string& executor, std::vector<Event>& events)
      : state_(state), name_(executor), events_(events) {}

  void add_all(const Observation& said) {
    std::set<PlaceholderKey> named;
    for (const SaidPlaceholder& one : said.placeholders) {
      const Node* node = state_.find_node(one.node);
      // An executor speaks for its own nodes alone.
      if (node == nullptr || find_executor(*node, name_) == nullptr) continue;
      const PlaceholderKey key{one.job, one.attempt, node->id, name_};
      const auto known = state_.placeholders.find(key);
      // Placeholders that the ledger never wanted, or has forgotten, are the adapter's to remove;
      // they are no news.
      if (known == state_.placeholders.end() || !named.insert(key).second) continue;
      add(key, known->second, one);
    }
    if (!said.complete) return;
    for (const auto& [key, known] : state_.placeholders) {
      if (key.executor != name_ || named.contains(key)) continue;
      move(key, known, PlaceholderStage::kGone, "", "");
    }
  }

 private:
  void add(const PlaceholderKey& key, const Placeholder& known, const SaidPlaceholder& said) {
    if (said.stage != PlaceholderStage::kConfirmed) {
      return move(key, known, said.stage, said.id, said.why);
    }
    const PlacementRecord* record = placement_of(state_, key);
    if (record != nullptr) {
      const std::vector<std::int32_t> wanted = devices_of(record->placement);
      // The ledger gives devices by id. If another scheduler gave other ones, two jobs would share
      // a GPU: better to refuse it and try again.
      if (said.devices != wanted) {
        return move(key, known, PlaceholderStage::kRefused, said.id,
                    fmt::format("it was given the devices [{}] instead of [{}]",
                                device_list(said.devices), device_list(wanted)));
      }
    }
    const CoreSet cores = our_cores(*state_.find_node(key.node), said.cores);
    if (const Job* pinned = pinned_job(state_, key, cores); pinned != nullptr) {
      return wait_for(key, known, said.id, *pinned);
    }
    move(key, known, said.stage, said.id, said.why, cores);
    // Prepared follows confirmed within the same batch, or a restart in between could leave the
    // attempt waiting for ever.
    if (known.stage == PlaceholderStage::kReleased || record == nullptr) return;
    add_prepared(key, *record);
  }

  void add_prepared(const PlaceholderKey& key, const PlacementRecord& record) {
    // Where an agent of ours is to run it, that one says so.
    const Job& job = *state_.find_job(key.job);
    if (job.phase != JobPhase::kActive || job.spec->executor != name_) return;
    if (record.stage != PlacementStage::kOrdered) return;
    events_.push_back(PlacementPrepared{key.job, key.attempt, key.node});
  }

  // Its end is on the way. If it has the cores for long, it is better to try again elsewhere.
  void wait_for(const PlaceholderKey& key, const Placeholder& known, const std::string& id,
                const Job& pinned) {
    using Stage = PlaceholderStage;
    if (known.stage != Stage::kWanted && known.stage != Stage::kAsked) return;
    const std::string why =
        fmt::format("it was given cores of job {}, whose end is not known yet", pinned.id.value);
    // Counted from the report that it has the cores: it may have waited for room before.
    const bool waits = known.stage == Stage::kAsked && known.id == id && known.why == why;
    if (waits && state_.now - known.since <= kPinned_for) return;
    const Stage to = waits ? Stage::kRefused : Stage::kAsked;
    events_.push_back(PlaceholderMoved{name_, key.job, key.attempt, key.node, to, id, why, {}});
  }

  void move(const PlaceholderKey& key, const Placeholder& known, PlaceholderStage to,
            const std::string& id, const std::string& why, const CoreSet& cores = {}) {
    const bool is_gone = to == PlaceholderStage::kGone;
    // Stages only go forward. What is released must end, what is wanted or refused has not begun to
    // be, so neither is "gone" by not being listed.
    if (known.stage == PlaceholderStage::kReleased && !is_gone) return;
    if (known.stage == PlaceholderStage::kWanted && is_gone) return;
    if (known.stage == PlaceholderStage::kRefused && is_gone) return;
    if (known.stage == to && known.id == id) return;
    events_.push_back(PlaceholderMoved{name_, key.job, key.attempt, key.node, to, id, why, cores});
  }

  const State& state_;
  const std::string& name_;
  std::vector<Event>& events_;
};

}  // namespace

void add_placeholders(const State& state, const std::string& executor, const Observation& said,
                      std::vector<Event>& events) {
  PlaceholderNews(state, executor, events).add_all(said);
}

}  // namespace dove::core
