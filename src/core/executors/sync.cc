#include "core/executors/sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/digest.h"
#include "core/place/reservation.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

// Of 53 bits, which every reader of JSON keeps exactly: those of the epoch above those of the list.
constexpr int kListBits = 32;
constexpr std::uint64_t kEpochMask = (std::uint64_t{1} << 21) - 1;

const NodeExecutor* executor_on(const Node& node, const std::string& name) {
  for (const NodeExecutor& each : node.executors) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

const Placement* placement_of(const State& state, const PlaceholderKey& key) {
  const Job* job = state.find_job(key.job);
  if (job == nullptr || job->attempts.empty()) return nullptr;
  const Attempt& attempt = job->attempts.back();
  if (attempt.number != key.attempt) return nullptr;
  for (const PlacementRecord& record : attempt.placements) {
    if (record.placement->node == key.node) return &*record.placement;
  }
  return nullptr;
}

class News {
 public:
  News(const State& state, const Executor& executor, const Observation& said)
      : state_(state), name_(executor.name), said_(said) {}

  std::vector<Event> all() {
    for (const SaidNode& node : said_.nodes) add_node(node);
    add_allocations();
    add_placeholders();
    add_contact();  // last: until then nothing is placed there
    return std::move(events_);
  }

 private:
  const Node* node_of(const std::string& name) const {
    const Node* node = state_.find_node(name);
    return node == nullptr || executor_on(*node, name_) == nullptr ? nullptr : node;
  }

  void add_node(const SaidNode& said) {
    const Node* node = node_of(said.name);
    if (node == nullptr) return;
    const NodeExecutor& known = *executor_on(*node, name_);
    if (known.state == said.state && known.why == said.why) return;
    events_.push_back(ExecutorNodeObserved{name_, node->id, said.state, said.why});
  }

  void add_allocations() {
    std::map<std::pair<NodeId, std::string>, const ForeignAllocation*> now;
    for (const SaidAllocation& said : said_.allocations) {
      if (const Node* node = node_of(said.node)) {
        now[{node->id, said.allocation.id}] = &said.allocation;
      }
    }
    for (const Node& node : state_.nodes) {
      const NodeExecutor* executor = executor_on(node, name_);
      if (executor == nullptr) continue;
      for (const ForeignAllocation& known : executor->foreign) {
        const auto said = now.find({node.id, known.id});
        if (said == now.end()) {
          if (said_.complete) events_.push_back(ForeignAllocationEnded{name_, node.id, known.id});
          continue;
        }
        if (*said->second == known) now.erase(said);
      }
    }
    for (const auto& [key, allocation] : now) {
      events_.push_back(ForeignAllocationObserved{name_, key.first, *allocation});
    }
  }

  void add_placeholders() {
    std::set<PlaceholderKey> named;
    for (const SaidPlaceholder& said : said_.placeholders) {
      const Node* node = node_of(said.node);
      if (node == nullptr) continue;
      const PlaceholderKey key{said.job, said.attempt, node->id, name_};
      const auto known = state_.placeholders.find(key);
      if (known == state_.placeholders.end() || !named.insert(key).second) continue;
      add_placeholder(key, known->second, said);
    }
    if (!said_.complete) return;
    for (const auto& [key, known] : state_.placeholders) {
      if (key.executor != name_ || named.contains(key)) continue;
      move(key, known, PlaceholderStage::kGone, "", "");
    }
  }

  void add_placeholder(const PlaceholderKey& key, const Placeholder& known,
                       const SaidPlaceholder& said) {
    const Placement* placement = placement_of(state_, key);
    if (said.stage == PlaceholderStage::kConfirmed && placement != nullptr) {
      const std::vector<std::int32_t> wanted = devices_of(*placement);
      if (said.devices != wanted) {
        return move(key, known, PlaceholderStage::kRefused, said.id,
                    fmt::format("it was given the devices [{}] instead of [{}]",
                                device_list(said.devices), device_list(wanted)));
      }
    }
    move(key, known, said.stage, said.id, said.why);
  }

  void move(const PlaceholderKey& key, const Placeholder& known, PlaceholderStage to,
            const std::string& id, const std::string& why) {
    const bool is_gone = to == PlaceholderStage::kGone;
    if (known.stage == PlaceholderStage::kReleased && !is_gone) return;
    if (known.stage == PlaceholderStage::kWanted && is_gone) return;
    if (known.stage == PlaceholderStage::kRefused && is_gone) return;
    if (known.stage == to && known.id == id) return;
    events_.push_back(PlaceholderMoved{name_, key.job, key.attempt, key.node, to, id, why});
  }

  void add_contact() {
    const auto standing = state_.standings.find(name_);
    const ExecutorContact now =
        said_.complete ? ExecutorContact::kAnswering : ExecutorContact::kMute;
    if (standing == state_.standings.end() || standing->second.contact == now) return;
    events_.push_back(ExecutorContactChanged{name_, now, ""});
  }

  const State& state_;
  const std::string& name_;
  const Observation& said_;
  std::vector<Event> events_;
};

// A refused one that its attempt waited for is not asked for again: the attempt ends.
bool is_wanted(const State& state, const PlaceholderKey& key, const Placeholder& placeholder) {
  switch (placeholder.stage) {
    case PlaceholderStage::kWanted:
    case PlaceholderStage::kAsked:
    case PlaceholderStage::kConfirmed:
      return true;
    case PlaceholderStage::kRefused: {
      const Job* job = state.find_job(key.job);
      return job != nullptr && !job->attempts.empty() &&
             job->attempts.back().stop_reason != StopReason::kPlaceholder;
    }
    case PlaceholderStage::kReleased:
    case PlaceholderStage::kGone:
      return false;
  }
  return false;
}

std::uint64_t version_of(const State& state, const Wanted& wanted) {
  Digest digest;
  for (const WantedPlaceholder& one : wanted.placeholders) {
    digest.add(one.job.value);
    digest.add(std::uint64_t{one.attempt});
    digest.add(std::uint64_t{one.node->id.value});
  }
  for (const WantedDrain& one : wanted.drains) {
    digest.add(std::uint64_t{one.node->id.value});
    digest.add(std::string_view(one.why));
  }
  const std::uint64_t list = std::max<std::uint64_t>(digest.value() >> kListBits, 1);
  return (state.epoch.value & kEpochMask) << kListBits | list;
}

}  // namespace

std::vector<std::int32_t> devices_of(const Placement& placement) {
  std::vector<std::int32_t> devices;
  for (const DeviceGrant& grant : placement.devices) {
    if (devices.empty() || devices.back() != grant.device) devices.push_back(grant.device);
  }
  return devices;
}

std::vector<Event> news(const State& state, const Executor& executor, const Observation& said) {
  return News(state, executor, said).all();
}

Wanted wanted(const State& state, const std::string& executor) {
  Wanted wanted;
  for (const auto& [key, placeholder] : state.placeholders) {
    if (key.executor != executor || !is_wanted(state, key, placeholder)) continue;
    const Placement* placement = placement_of(state, key);
    if (placement == nullptr) continue;
    wanted.placeholders.push_back({key.job, key.attempt, state.find_node(key.node), placement,
                                   held_until(state, *state.find_job(key.job))});
  }
  wanted.drains = wanted_drains(state, executor);
  wanted.version = version_of(state, wanted);
  return wanted;
}

bool is_of_this_epoch(const State& state, std::uint64_t version) {
  return version != 0 && version >> kListBits == (state.epoch.value & kEpochMask);
}

}  // namespace dove::core
