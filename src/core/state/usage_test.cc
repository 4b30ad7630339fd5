#include "core/state/usage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/random.h"
#include "core/state/apply.h"
#include "core/state/hash.h"

namespace dove::core {
namespace {

constexpr std::int32_t kDevices = 8;

// Jobs of three users in a tree of queues, folded as they come: nobody decides or admits.
class Folded {
 public:
  explicit Folded(std::uint64_t seed) : random_(seed) {
    begin_batch(state_, Instant{1'000'000'000}, Epoch(1));
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(1);
    for (std::int32_t core = 0; core < kDevices; ++core) inventory->numa[0].cores.insert(core);
    for (int i = 0; i < kDevices; ++i) {
      inventory->devices.push_back({"gpu", "", i % 2 == 0 ? "H200" : "L4", "", 80, 0});
    }
    inventory->memory_bytes = 1000;
    NodeRegistered node;
    node.name = "n1";
    node.boot_id = "boot";
    node.inventory = inventory;
    fold(node);
    free_.resize(kDevices, true);
  }

  State& state() { return state_; }
  Random& random() { return random_; }
  void fold(Event event) { core::apply(state_, StampedEvent{std::move(event), {}}); }

  void something() {
    begin_batch(state_, state_.now + Span{static_cast<std::int64_t>(random_.below(100'000'000))},
                state_.epoch);
    const std::uint64_t what = random_.below(3);
    if (what == 0) return submit();
    if (state_.jobs.empty()) return;
    const JobId id(1 + random_.below(state_.next_job - 1));
    what == 1 ? launch(id) : end(id);
  }

  std::string some_domain() {
    return random_.below(3) == 0 ? "" : fmt::format("d{}", random_.below(2));
  }
  std::string some_queue() { return fmt::format("q{}", random_.below(4)); }

  Limits some_limits() {
    Limits limits;
    limits.cores = static_cast<std::int32_t>(random_.below(9));
    if (random_.below(8) == 0) limits.gpus_by_model = {{"h200", 2000}};
    if (random_.below(3) == 0) limits.gpu_ms_month = 1000;
    return limits;
  }

 private:
  void submit() {
    auto spec = std::make_shared<JobSpec>();
    spec->user = fmt::format("u{}", random_.below(3));
    if (random_.below(2) == 0) spec->project = fmt::format("p{}", random_.below(2));
    spec->queue = some_queue();
    spec->groups.resize(1);
    spec->groups[0].per_task.cores = 1;
    spec->groups[0].per_task.gpus = 1;
    fold(JobSubmitted{spec});
  }

  void launch(JobId id) {
    const auto at = std::find(free_.begin(), free_.end(), true);
    if (at == free_.end() || state_.jobs.at(id).phase != JobPhase::kWaiting) return;
    *at = false;
    Placement placement;
    placement.node = NodeId{1};
    const auto device = static_cast<std::int32_t>(at - free_.begin());
    placement.cores.insert(device);
    placement.devices = {{device}};
    core::apply(state_, Decision(Launch{id, 1, {placement}}));
  }

  void end(JobId id) {
    const Job& job = state_.jobs.at(id);
    if (job.phase == JobPhase::kEnded) return;
    if (job.phase == JobPhase::kActive) {
      const Placement placement = job.attempts.back().placements.front().placement;
      free_[static_cast<std::size_t>(placement.devices.front().device)] = true;
      PlacementEnded ended;
      ended.job = id;
      ended.attempt = 1;
      ended.node = placement.node;
      fold(ended);
      if (random_.below(4) == 0) return;  // none decides on it before the next declaration
    }
    core::apply(state_, Decision(EndJob{id, Outcome::kCompleted, 0}));
  }

  State state_;
  Random random_;
  std::vector<bool> free_;
};

// A declaration, and what it does to the objects alone.
struct Declaration {
  Event event;
  std::function<void(State&)> by_hand;
};

Declaration some_declaration(Folded& world) {
  Random& random = world.random();
  const std::string name = fmt::format("u{}", random.below(3));
  switch (random.below(8)) {
    case 0: {
      const UserLimit limit{name, world.some_limits()};
      return {ObjectApplied{limit}, [=](State& state) { state.user_limits[name] = limit; }};
    }
    case 1:
      return {ObjectDeleted{"limit", name}, [=](State& state) { state.user_limits.erase(name); }};
    case 2: {
      Project project;
      project.name = fmt::format("p{}", random.below(2));
      project.domain = world.some_domain();
      project.limits = world.some_limits();
      return {ObjectApplied{project}, [=](State& s) { s.projects[project.name] = project; }};
    }
    case 3: {
      const std::string queue = random.below(2) == 0 ? world.some_queue() : "above0";
      return {ObjectDeleted{"queue", queue}, [=](State& state) { state.queues.erase(queue); }};
    }
    case 4: {
      Domain domain;
      domain.name = fmt::format("d{}", random.below(2));
      domain.limits = world.some_limits();
      return {ObjectApplied{domain}, [=](State& s) { s.domains[domain.name] = domain; }};
    }
    case 5: {
      UserDeclaration user;
      user.name = name;
      user.domain = world.some_domain();
      return {ObjectApplied{user}, [=](State& s) { s.users[name] = user; }};
    }
    default:
      break;
  }
  Queue queue;
  queue.name = world.some_queue();
  if (random.below(3) > 0) queue.parent = fmt::format("above{}", random.below(2));
  if (random.below(4) == 0) queue.name = std::exchange(queue.parent, "");
  if (queue.name.empty()) queue.name = "top";
  queue.limits = world.some_limits();
  queue.weight = static_cast<std::int32_t>(1 + random.below(3));
  return {ObjectApplied{queue}, [=](State& state) { state.queues[queue.name] = queue; }};
}

// Also of queues that are declared above others, or deleted, while they hold jobs.
TEST(Usage, IsAfterADeclarationWhatCountingAnewGives) {
  Folded world(11);
  int held = 0;
  for (int round = 0; round < 1200; ++round) {
    for (std::uint64_t i = world.random().below(6); i > 0; --i) world.something();
    const Declaration one = some_declaration(world);
    State anew(world.state());
    ++anew.head.value;
    one.by_hand(anew);
    rebuild_usage(anew);
    world.fold(one.event);
    if (const auto* applied = std::get_if<ObjectApplied>(&one.event);
        applied != nullptr && std::holds_alternative<UserDeclaration>(applied->object)) {
      // A user brings nothing up to now, and may take jobs to another domain.
      rebuild_usage(world.state());
    }
    ASSERT_EQ(state_hash(world.state()), state_hash(anew)) << "round " << round;
    if (world.state().usage.gpus_milli > 0 && world.state().counts_models) ++held;
  }
  EXPECT_GT(held, 100);
}

}  // namespace
}  // namespace dove::core
