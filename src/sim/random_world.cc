#include "sim/random_world.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/admit/admit.h"
#include "core/explain/explain.h"
#include "core/place/device_fit.h"

namespace dove::sim {
namespace {

constexpr int kNodes = 6;

Error wrong(std::string what) {
  return Error{ErrorKind::kInternal, "property", std::move(what), ""};
}

}  // namespace

Result<void> RandomWorld::account(const Decision& decision) {
  if (const auto* launch = std::get_if<Launch>(&decision)) {
    for (const auto& [job, attempt, node] : running_) {
      if (job == launch->job) return wrong(fmt::format("job {} runs twice", job.value));
    }
    for (const Placement& p : launch->placements) {
      running_.insert({launch->job, launch->attempt, p.node});
      if (state().find_node(p.node)->removed) return wrong("a launch on a removed node");
    }
  } else if (const auto* lost = std::get_if<DeclareNodeLost>(&decision)) {
    forget_node(lost->node);
  } else if (std::get_if<ForgetJob>(&decision) != nullptr) {
    ++forgotten_;
  } else if (const auto* stop = std::get_if<Stop>(&decision)) {
    hung_ += stop->reason == StopReason::kHung ? 1 : 0;
  }
  return {};
}

Instant RandomWorld::next_instant() {
  const Instant wake = brain_.wake_at();
  Instant next = state().now + milliseconds(number(4000));
  if (wake != kNever && one_in(4)) next = std::max(next, wake);
  // Nodes are kept for what has waited for days.
  if (learns_ && one_in(40)) next = next + seconds(50 * 3600);
  return next;
}

void RandomWorld::some_events() {
  const std::uint64_t events = random_.below(4);
  for (std::uint64_t k = 0; k < events; ++k) happen();
}

void RandomWorld::forget_node(NodeId node) {
  std::erase_if(running_, [&](const auto& entry) { return std::get<2>(entry) == node; });
}

// A node or two for a while, or for good: for ann, for nobody, for who names it, or as spare ones
// for gangs.
void RandomWorld::reserve() {
  Reservation kept;
  kept.name = "kept";
  if (one_in(3)) return brain_.add(ObjectDeleted{"reservation", kept.name});
  const std::int32_t first = 1 + number(kNodes);
  kept.nodes = {fmt::format("n{}", first), fmt::format("n{}", first + number(2))};
  kept.starts_at = state().now + seconds(number(60));
  kept.ends_at = kept.starts_at + seconds(20 + number(200));
  switch (number(5)) {
    case 0:
      kept.users = {"ann"};
      break;
    case 1:
      kept.outage = true;
      break;
    case 2:
      break;
    default:
      kept.spares_for = 2;
      if (one_in(2)) kept.ends_at = kNever;
  }
  brain_.add(ObjectApplied{kept});
}

// What administrators say.
void RandomWorld::declare() {
  if (with_quotas_ && one_in(2)) return reserve();
  Pool half = state().pools.at("half");
  half.open = !one_in(3);
  if (with_quotas_) half.exclusive = one_in(4);
  half.time_limit_max = one_in(2) ? seconds(20 + number(40)) : Span{};
  brain_.add(ObjectApplied{half});
}

const char* RandomWorld::some_order() {
  static const char* const orders[] = {"priority_fifo",  "strict_fifo",  "drf",
                                       "fair_share",     "multifactor",  "least_attained",
                                       "shortest_limit", "priority_lifo"};
  return orders[number(with_quotas_ ? 8 : 4)];
}

void RandomWorld::declare_project() {
  Project project;
  project.name = "course";
  project.limits.jobs_running = 1 + number(3);
  project.limits.gpus_by_model = {{"h200", 1000}};
  project.limits.countables = {{"slice:1g.18gb", 1}};
  brain_.add(ObjectApplied{project});
}

void RandomWorld::set_up() {
  brain_.add(ControllerStarted{});
  ClusterSettings settings;
  settings.disconnect_grace = seconds(20);
  settings.effect_deadline = seconds(30);
  settings.ended_jobs_kept = seconds(200);
  settings.ended_jobs_max = 40;
  settings.countables = {{"licence", 3}};
  settings.placement = placement_;
  if (with_hangs_) settings.on_hang = static_cast<OnHang>(number(3));
  if (varied_) {
    settings.order = some_order();
  }
  if (learns_) settings.order = "learned";
  brain_.add(ObjectApplied{settings});
  for (int i = 1; i <= kNodes; ++i) {
    NodeDeclaration place;
    place.name = fmt::format("n{}", i);
    place.topology = {{"switch", i <= 4 ? "s1" : "s2"}, {"rack", fmt::format("r{}", i / 2)}};
    if (varied_ && one_in(2)) place.features = {i % 2 == 0 ? "fast" : "big"};
    if (i < kNodes) brain_.add(ObjectApplied{place});
    register_node(i, "boot1");
  }
  brain_.add(ObjectApplied{Pool{"half", {"n[1-3]"}, false, {}, {}, true}});
  Queue queue;
  queue.name = "small";
  queue.guaranteed.gpus_milli = 3000;
  queue.limits.gpus_milli = 5000;
  queue.limits.jobs_running = 4;
  if (varied_ && one_in(2)) queue.order = one_in(2) ? "strict_fifo" : "drf";
  if (varied_ && one_in(2)) queue.limits.gpus_by_model = {{"h200", 2000}};
  if (with_quotas_ && one_in(2)) queue.guaranteed.gpus_by_model = {{"h200", 1000}};
  brain_.add(ObjectApplied{queue});
  if (with_quotas_ && one_in(2)) declare_project();
  UserLimit limit;
  limit.name = "bob";
  limit.limits.cores = 12;
  if (varied_ && one_in(2)) limit.limits.gpus_by_model = {{"a100", 1500}, {"h200", 1000}};
  if (varied_ && one_in(2)) limit.limits.countables = {{"licence", 1}, {"rdma", 2}};
  brain_.add(ObjectApplied{limit});
}

void RandomWorld::register_node(int i, const std::string& boot) {
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(2);
  for (std::int32_t core = 0; core < 8; ++core) {
    inventory->numa[static_cast<std::size_t>(core / 4)].cores.insert(core);
  }
  for (int device = 0; device < i % 4 * 2; ++device) {
    inventory->devices.push_back(
        {"gpu", "nvidia", i % 2 == 0 ? "A100" : "H200", "", std::int64_t{80} << 30, device % 2});
  }
  inventory->memory_bytes = std::int64_t{16} << 30;
  inventory->countables = {{"rdma", 2}};
  NodeRegistered node;
  node.name = fmt::format("n{}", i);
  node.boot_id = boot;
  node.inventory = inventory;
  const core::Node* known = state().find_node(node.name);
  if (known != nullptr && known->boot_id != boot) forget_node(known->id);
  brain_.add(node);
  brain_.add(NodeConnected{state().find_node(node.name)->id, boot});
}

NodeId RandomWorld::some_node() { return NodeId(static_cast<std::uint32_t>(1 + number(kNodes))); }
JobId RandomWorld::some_job() {
  const std::uint64_t back = random_.below(std::min<std::uint64_t>(state().next_job, 40));
  return JobId(state().next_job - back);
}

void RandomWorld::happen() {
  if (with_hangs_ && one_in(4)) return tell_progress();
  const std::int32_t what = number(100);
  if (what < 25) return submit();
  if (what < 70) return report();
  if (what < 85) return ask();
  if (varied_ && one_in(6)) return declare();
  touch_node();
}

void RandomWorld::submit() {
  auto spec = std::make_shared<JobSpec>();
  spec->name = one_in(3) ? "same" : "job";
  spec->user = one_in(3) ? "bob" : "ann";
  spec->queue = one_in(3) ? "small" : "default";
  spec->pool = one_in(4) ? "half" : "";
  if (!state().projects.empty() && one_in(3)) spec->project = "course";
  spec->priority = number(3);
  spec->launch = one_in(5) ? LaunchMode::kBatch : LaunchMode::kEachTask;
  const int groups = one_in(5) ? 2 : 1;
  for (int i = 0; i < groups; ++i) spec->groups.push_back(group());
  if (one_in(6)) spec->cluster_requests = {{"licence", 1 + number(2)}};
  if (one_in(3)) spec->time_limit = seconds(5 + number(60));
  if (one_in(8)) spec->begin_at = state().now + seconds(number(30));
  for (int i = number(3); i > 0; --i) {
    Dependency one;
    one.kind = static_cast<DependencyKind>(number(6));
    if (one.kind != DependencyKind::kSingleton) one.job = some_job();
    if (one.kind == DependencyKind::kAfter) one.delay = seconds(number(10));
    if (one_in(2)) spec->dependencies.push_back(one);
  }
  spec->any_dependency = one_in(3);
  if (one_in(6)) {
    for (std::int32_t i = 0; i < 4; ++i) spec->array.indices.push_back(i);
    spec->array.running_max = number(3);
  }
  spec->retries_max = number(2);
  spec->requeue = !one_in(4);
  spec->hold = one_in(8);
  if (one_in(2)) spec->preempt = one_in(2) ? Preempt::kCheckpoint : Preempt::kRestart;
  if (one_in(3)) spec->slice_min = seconds(1 + number(20));
  spec->exclusive = one_in(10);
  if (one_in(10)) spec->nodes_excluded = {"n1"};
  say_where(*spec);
  if (varied_ && one_in(10)) spec->features = {spec->exclusive ? "fast" : "fast|big"};
  if (varied_ && one_in(10)) spec->nodes_wanted = {one_in(2) ? "n[2-3]" : "n5"};
  if (core::admit(state(), *spec).ok()) brain_.add(JobSubmitted{spec});
}

void RandomWorld::say_where(JobSpec& spec) {
  if (with_quotas_ && one_in(12)) spec.reservation = "kept";
  const char* levels[] = {"rack", "switch", "node", "zone"};
  if (one_in(3)) spec.domain = levels[number(4)];
  spec.domain_required = !spec.domain.empty() && one_in(2);
  spec.spread = static_cast<Spread>(number(3));
  if (one_in(4)) spec.label = "x";
  if (one_in(8)) spec.apart_labels = {"x"};
  if (one_in(12)) spec.near_labels = {"x"};
}

TaskGroup RandomWorld::group() {
  TaskGroup made;
  made.tasks = 1 + number(4);
  if (one_in(3)) made.nodes_min = made.nodes_max = 1 + number(made.tasks);
  if (one_in(5)) {
    made.nodes_min = made.nodes_max = 0;
    made.tasks_per_node = 1 + number(2);
  }
  made.per_task.cores = number(4);
  if (one_in(2)) made.per_task.gpus = number(3);
  if (made.per_task.gpus == 0 && one_in(3)) made.per_task.share_milli = 100 + 100 * number(8);
  if (!core::wants_devices(made.per_task) && one_in(2)) {
    static const char* const names[] = {"1g.10gb", "2g.20gb", "4g.40gb", "1g.18gb", "3g.71gb"};
    made.per_task.slice = names[number(5)];
    made.per_task.slices = 1 + number(2);
  }
  if (one_in(6)) made.per_task.gpu_model = "h200";
  if (one_in(4)) made.per_task.memory_bytes = std::int64_t{1 + number(6)} << 30;
  if (one_in(6)) made.per_task.countables = {{"rdma", 1}};
  if (one_in(8)) made.per_node.gpus = 1;
  if (made.per_node.gpus == 0 && one_in(8)) {
    made.per_node.slice = one_in(2) ? "2g.35gb" : "3g.40gb";
    made.per_node.slices = 1;
  }
  if (one_in(8)) made.per_node.cores = 1;
  return made;
}

// Mostly of something that runs; sometimes of the past or of nothing.
void RandomWorld::report() {
  if (running_.empty() || one_in(15)) {
    brain_.add(PlacementEnded{
        some_job(), 1 + static_cast<AttemptNumber>(number(3)), some_node(), {}, 0, 0});
    // It may have been about something that runs.
    return settle();
  }
  auto at = running_.begin();
  std::advance(at, number(static_cast<std::int32_t>(running_.size())));
  const auto [job, attempt, node] = *at;
  TaskExit exit;
  exit.exit_code = one_in(4) ? 1 + number(3) : 0;
  if (one_in(12)) exit.cause = "fenced";
  switch (number(6)) {
    case 0:
    case 1:
      return brain_.add(PlacementPrepared{job, attempt, node});
    case 2:
    case 3:
      return brain_.add(PlacementStarted{job, attempt, node});
    case 4:
      if (one_in(3)) return brain_.add(TaskEnded{job, attempt, node, exit});
      [[fallthrough]];
    default:
      if (one_in(10)) {
        brain_.add(LaunchFailed{job, attempt, node, "why"});
      } else {
        brain_.add(PlacementEnded{job, attempt, node, {exit}, 0, 0});
      }
      running_.erase(at);
  }
}

// Mostly of an attempt that runs; sometimes of another one, or from a node that has none of it.
void RandomWorld::tell_progress() {
  if (running_.empty()) return;
  auto at = running_.begin();
  std::advance(at, number(static_cast<std::int32_t>(running_.size())));
  auto [job, attempt, node] = *at;
  if (one_in(10)) attempt += 1;
  if (one_in(10)) node = some_node();
  const std::int32_t ranks = 1 + number(4);
  switch (number(7)) {
    case 0:
      return brain_.add(HangEnded{job, attempt});
    case 4:
      return brain_.add(IdleObserved{job, attempt, static_cast<IdleCheck>(number(3)), "all", "seen",
                                     seconds(number(600))});
    case 5:
      return brain_.add(IdleEnded{job, attempt});
    case 6:
      return brain_.add(JobKept{job, state().now + seconds(number(600))});
    case 1:
      return brain_.add(ProgressReported{job, attempt, node, number(50), milliseconds(number(900)),
                                         static_cast<Rank>(number(ranks)), ranks,
                                         milliseconds(number(900))});
    default:
      return brain_.add(HangObserved{job, attempt, node, one_in(2),
                                     static_cast<Rank>(number(ranks)), ranks, number(50),
                                     seconds(number(100))});
  }
}

// Takes over from the state what a report about anything has ended.
void RandomWorld::settle() {
  std::erase_if(running_, [this](const auto& entry) {
    const core::Job* job = state().find_job(std::get<0>(entry));
    if (job == nullptr || job->attempts.empty()) return true;
    for (const auto& record : job->attempts.back().placements) {
      if (record.placement->node == std::get<2>(entry)) {
        return record.stage == core::PlacementStage::kEnded;
      }
    }
    return true;
  });
}

void RandomWorld::ask() {
  const JobId job = some_job();
  switch (number(7)) {
    case 6:
      return brain_.add(CheckpointTaken{job, 1 + static_cast<AttemptNumber>(number(2))});
    case 0:
      return brain_.add(JobCancelRequested{job});
    case 1:
      return brain_.add(JobHeld{job});
    case 2:
      return brain_.add(JobReleased{job});
    case 3:
      return brain_.add(JobRequeueRequested{job});
    case 4:
      return brain_.add(JobPriorityChanged{job, number(5)});
    default:
      if (state().find_job(job) != nullptr) {
        core::explain(state(), brain_.policies(), job);
      }
  }
}

void RandomWorld::touch_node() {
  const NodeId id = some_node();
  const core::Node& node = *state().find_node(id);
  switch (number(8)) {
    case 0:
      return brain_.add(NodeDisconnected{id, false});
    case 1:
      return brain_.add(NodeDisconnected{id, true});
    case 2:
    case 3:
    case 4:
      return brain_.add(NodeConnected{id, node.boot_id});
    case 5: {
      NodeDeclaration declaration = node.declared;
      declaration.drained = one_in(3);
      return brain_.add(ObjectApplied{declaration});
    }
    case 6:
      if (one_in(4)) {
        brain_.next_epoch();
        return brain_.add(ControllerStarted{});
      }
      return register_node(static_cast<int>(id.value), fmt::format("boot{}", number(100)));
    default:
      if (one_in(5)) {
        forget_node(id);
        return brain_.add(NodeRemoved{id});
      }
      return register_node(static_cast<int>(id.value), node.boot_id);
  }
}

}  // namespace dove::sim
