#include "core/explain/place_causes.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/place/fit.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

// Causes by which nodes, or what is free on them, change. The others change the job, and leave the
// nodes as they are.
constexpr Causes kNodeCauses = kClosedCauses | kOccupiedCause;

std::int64_t free_whole_devices(const FreeView& free, const Request& request) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < free.devices_milli.size(); ++i) {
    // A sliced device has less than a whole one free, so it need not be asked for.
    const bool whole = free.devices_milli[i] >= kWholeDevice_milli;
    if (whole && matches(request, free.inventory->devices[i])) ++count;
  }
  return count;
}

std::int64_t largest_share(const FreeView& free, const Request& request) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < free.devices_milli.size(); ++i) {
    if (!matches(request, free.inventory->devices[i]) || is_sliced(free.slots_taken, i)) continue;
    // A share lies on one device, so the largest rest counts and not the sum.
    most = std::max<std::int64_t>(most, free.devices_milli[i]);
  }
  return most;
}

// How many slices of the profile have room.
std::int64_t free_slices(const FreeView& free, Request request) {
  request.slices = 1;
  return device_capacity(free.devices(), request, std::numeric_limits<std::int32_t>::max());
}

// The first request of the job that asks for devices, whole ones before slices before shares.
Request device_request(const JobSpec& spec) {
  // The scarcest first: a job that asks for GPUs waits for GPUs, whatever else it asks for.
  for (std::int32_t Request::*amount : {&Request::gpus, &Request::slices, &Request::share_milli}) {
    for (const TaskGroup& group : spec.groups) {
      for (const Request* request : {&group.per_task, &group.per_node}) {
        if (request->*amount > 0) return *request;
      }
    }
  }
  return {};
}

bool needs_several_nodes(const TaskGroup& group) {
  return group.nodes_min > 1 || (group.tasks_per_node > 0 && group.tasks_per_node < group.tasks);
}

bool contradicts_itself(const JobSpec& spec) {
  // No node is several nodes: such a job never starts, and nothing about the cluster helps.
  return spec.domain == kNodeLevel && spec.domain_required &&
         std::any_of(spec.groups.begin(), spec.groups.end(), needs_several_nodes);
}

// What nodes have says already that all is to be on one node.
bool wants_unit(const JobSpec& spec) {
  if (spec.domain.empty() || !spec.domain_required) return false;
  return spec.domain != kNodeLevel || contradicts_itself(spec);
}

bool has_labels(const JobSpec& spec) {
  return !spec.label.empty() || !spec.near_labels.empty() || !spec.apart_labels.empty();
}

}  // namespace

std::int64_t Kind::asked(const Request& request) const {
  switch (what) {
    case What::kCores:
      return request.cores;
    case What::kMemory:
      return request.memory_bytes;
    case What::kDevices:
      // Devices are asked for in one of three ways, and the amount is in that one's unit.
      if (devices.gpus > 0) return request.gpus;
      return devices.slices > 0 ? request.slices : request.share_milli;
    case What::kCountable:
      return amount_of(request.countables, name);
  }
  return 0;
}

std::int64_t Kind::free(const FreeView& view) const {
  switch (what) {
    case What::kCores:
      return static_cast<std::int64_t>(view.cores->size());
    case What::kMemory:
      return std::max<std::int64_t>(view.memory_bytes, 0);
    case What::kDevices:
      if (devices.gpus > 0) return free_whole_devices(view, devices);
      return devices.slices > 0 ? free_slices(view, devices) : largest_share(view, devices);
    case What::kCountable:
      return amount_of(*view.countables, name);
  }
  return 0;
}

std::int64_t Kind::most(const NodeFree& sums) const {
  switch (what) {
    case What::kCores:
      return sums.cores;
    case What::kMemory:
      return std::max<std::int64_t>(sums.memory_bytes, 0);
    case What::kDevices:
      if (devices.gpus > 0) return sums.gpus_milli / kWholeDevice_milli;
      // Slices are counted by their slots, which sums do not show.
      if (devices.slices == 0) return sums.gpus_milli;
      break;
    case What::kCountable:
      break;
  }
  return std::numeric_limits<std::int64_t>::max();
}

void Kind::clear(Request& request) const {
  switch (what) {
    case What::kCores:
      request.cores = 0;
      return;
    case What::kMemory:
      request.memory_bytes = 0;
      return;
    case What::kDevices:
      request.gpus = 0;
      request.share_milli = 0;
      request.slices = 0;
      request.slice.clear();
      return;
    case What::kCountable:
      std::erase_if(request.countables, [&](const Countable& one) { return one.name == name; });
      return;
  }
}

std::vector<Kind> kinds_of(const JobSpec& spec) {
  std::vector<Kind> kinds;
  // Countables come last: where there are more kinds than bits, they are left out.
  kinds.push_back({Kind::What::kCores, "cores", {}});
  kinds.push_back({Kind::What::kMemory, "memory_bytes", {}});
  const Request devices = device_request(spec);
  const std::string name = devices.gpus > 0     ? "gpus"
                           : devices.slices > 0 ? "slice:" + devices.slice
                                                : "share_milli";
  kinds.push_back({Kind::What::kDevices, name, devices});
  std::set<std::string> names;
  for (const TaskGroup& group : spec.groups) {
    for (const Countable& one : group.per_task.countables) names.insert(one.name);
    for (const Countable& one : group.per_node.countables) names.insert(one.name);
  }
  for (const std::string& each : names) kinds.push_back({Kind::What::kCountable, each, {}});
  std::erase_if(kinds, [&](const Kind& kind) {
    return std::none_of(spec.groups.begin(), spec.groups.end(), [&](const TaskGroup& group) {
      return kind.asked(group.per_task) > 0 || kind.asked(group.per_node) > 0;
    });
  });
  // Causes are bits of one word. What is beyond is not named by itself, only as part of what jobs
  // hold altogether.
  if (kinds.size() > kKinds_max) kinds.resize(kKinds_max);
  return kinds;
}

PlaceCauses::PlaceCauses(ExplainIndex& index, const Pool& pool, const Job& job)
    : state_(index.state()),
      books_(index.books(pool)),
      pool_nodes_(books_.nodes()),
      spec_(*job.spec),
      restart_nodes_(guest_of(job).restart_nodes),
      kinds_(kinds_of(spec_)) {
  const JobSpec& spec = spec_;
  for (const auto& [name, reservation] : state_.reservations) {
    // Causes that cannot apply are not tried: each one more doubles the sets that could be.
    if (reservation.ends_at > state_.now) reservations_.push_back(&reservation);
  }
  if (!reservations_.empty()) applicable_ |= kReservedCause;
  // One that it cannot use is reported elsewhere.
  const bool confined = !spec.reservation.empty() && reservation_obstacles(state_, spec).empty();
  if (confined) applicable_ |= kInsideCause;
  if (has_labels(spec)) applicable_ |= kLabelsCause;
  if (wants_unit(spec)) applicable_ |= kDomainCause;
  if (!spec.nodes_wanted.empty() || !spec.nodes_excluded.empty()) applicable_ |= kChoiceCause;
  // One node is enough to make it a possible cause.
  if (pool_nodes_.available < pool_nodes_.ids.size()) applicable_ |= kUnavailableCause;
}

Causes PlaceCauses::all_allocated() const {
  Causes all = 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) all |= allocated_cause(i);
  return all;
}

// Each wish that is thought away is taken out of the spec, and the usual search runs on what is
// left.
JobSpec PlaceCauses::lighten(JobSpec spec, Causes gone) const {
  if ((gone & kLabelsCause) != 0) {
    spec.label.clear();
    spec.near_labels.clear();
    spec.apart_labels.clear();
  }
  if ((gone & kDomainCause) != 0) spec.domain.clear();
  if ((gone & kChoiceCause) != 0) {
    spec.nodes_wanted.clear();
    spec.nodes_excluded.clear();
  }
  // Nothing is left to ask for but the nodes themselves.
  if ((gone & kTooFewCause) != 0) {
    spec.groups.assign(1, TaskGroup{});
    spec.exclusive = false;
    spec.features.clear();
  }
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if ((gone & scarce_cause(i)) == 0) continue;
    for (TaskGroup& group : spec.groups) {
      kinds_[i].clear(group.per_task);
      kinds_[i].clear(group.per_node);
    }
  }
  return spec;
}

WhatIf::Closed PlaceCauses::closed_nodes(Causes gone, const Ignored& ignored) const {
  WhatIf::Closed closed;
  // No reservation: nobody is kept off. An empty list closes no node.
  if (pool_nodes_.windows.empty()) return closed;
  JobSpec spec = spec_;
  // With that cause gone, it may run outside its reservation.
  if ((applicable_ & ~gone & kInsideCause) == 0) spec.reservation.clear();
  const Instant end = stay_of(state_, spec).end(state_.now);
  const auto is_left_out = [&](const Window& window) {
    const bool is_ignored = std::find(ignored.begin(), ignored.end(), window.of) != ignored.end();
    // The job's own reservation is no obstacle to be thought away: without its window the job
    // would be outside.
    return is_ignored && window.of->name != spec.reservation;
  };
  closed.assign(pool_nodes_.windows.size(),
                !is_open(state_, {spec, restart_nodes_}, {}, state_.now, end));
  for (const NodeId id : pool_nodes_.ids) {
    if (pool_nodes_.windows[id].empty()) continue;
    std::vector<Window> windows = pool_nodes_.windows[id];
    std::erase_if(windows, is_left_out);
    closed[id] = !is_open(state_, {spec, restart_nodes_}, windows, state_.now, end);
  }
  return closed;
}

std::vector<const Reservation*> PlaceCauses::reservations_in(Causes gone) {
  // Each one that it can do without is left out for the rest: what remains is needed, all of it.
  // In the order of names. Another order could leave another set, each of whose members is needed
  // as well.
  Ignored needed = reservations_;
  for (const Reservation* each : reservations_) {
    Ignored fewer = needed;
    std::erase(fewer, each);
    const auto nodes =
        make_nodes(gone & (kNodeCauses | all_allocated()), closed_nodes(gone, fewer));
    if (nodes->fits(lighten(spec_, gone))) needed = std::move(fewer);
  }
  return needed;
}

WhatIf& PlaceCauses::nodes(Causes gone) {
  // Which nodes and which books depends on these causes alone, so the many trials share a few of
  // them. Making one visits every node; a search over it does not.
  const Causes which = gone & (kNodeCauses | all_allocated());
  // What cannot be a cause leaves out no node.
  const Causes closing = applicable_ & kClosedCauses & ~which;
  if (closing == 0) return all_nodes(which);
  if (const Freed freed = freed_by(which);
      closing == kUnavailableCause && freed.countables.empty()) {
    return books_.available(freed);
  }
  for (const auto& [causes, nodes] : made_) {
    if (causes == which) return *nodes;
  }
  // Together here; which of them matter is asked by reservations_in.
  const bool none_reserved = (which & kReservedCause) != 0;
  auto nodes = make_nodes(which, closed_nodes(which, none_reserved ? reservations_ : Ignored{}));
  made_.emplace_back(which, std::move(nodes));
  return *made_.back().second;
}

// Ranking all nodes is what costs. It is done once for each kind of books, on all nodes that there
// are; which of them are left out is decided afterwards.
std::unique_ptr<WhatIf> PlaceCauses::make_nodes(Causes which, const WhatIf::Closed& closed) {
  const auto nodes_of =
      (which & kUnavailableCause) != 0 ? WhatIf::Nodes::kAll : WhatIf::Nodes::kAvailable;
  return std::make_unique<WhatIf>(all_nodes(which), nodes_of, closed);
}

WhatIf& PlaceCauses::all_nodes(Causes which) {
  const Freed freed = freed_by(which);
  if (freed.countables.empty()) return books_.all(freed);
  // There are too many choices of countables to keep.
  which |= kClosedCauses;
  for (const auto& [causes, nodes] : made_) {
    if (causes == which) return *nodes;
  }
  made_.emplace_back(which, std::make_unique<WhatIf>(books_.all(), freed));
  return *made_.back().second;
}

Freed PlaceCauses::freed_by(Causes which) const {
  Freed freed;
  freed.all = (which & kOccupiedCause) != 0;
  // Else only some resources are given back, to see which of them the job lacks.
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if ((which & allocated_cause(i)) == 0) continue;
    const Kind::What what = kinds_[i].what;
    freed.cores = freed.cores || what == Kind::What::kCores;
    freed.memory = freed.memory || what == Kind::What::kMemory;
    freed.devices = freed.devices || what == Kind::What::kDevices;
    if (what == Kind::What::kCountable) freed.countables.push_back(kinds_[i].name);
  }
  return freed;
}

bool PlaceCauses::fits(Causes gone, const JobSpec& spec) {
  // Where nobody is nobody is near.
  // On empty nodes there is no job to be near to, so emptying them cannot be what would help.
  const bool near = !spec.near_labels.empty() && (gone & kLabelsCause) == 0;
  if (near && (gone & kOccupiedCause) != 0) return false;
  const bool confined = (applicable_ & ~gone & kInsideCause) != 0;
  // Nothing of the job is left that a node could lack.
  // Else it still has to be near a job, or inside a reservation, and the nodes decide.
  if (!near && !confined && (gone & kTooFewCause) != 0) return true;
  const Causes of_job = gone & ~(kNodeCauses | all_allocated());
  return of_job == 0 ? nodes(gone).fits(spec) : nodes(gone).fits(lighten(spec, of_job));
}

// One kind asked for and all others cleared: what does not fit even so is short by itself.
bool PlaceCauses::fits_only(Causes gone, const Kind* kind) {
  JobSpec only = spec_;
  for (const Kind& each : kinds_) {
    if (kind != nullptr && each.name == kind->name) continue;
    for (TaskGroup& group : only.groups) {
      each.clear(group.per_task);
      each.clear(group.per_node);
    }
  }
  return fits(gone, only);
}

std::optional<std::vector<Placement>> PlaceCauses::places(Causes gone,
                                                          std::span<const NodeId> avoided) {
  return nodes(gone).places(lighten(spec_, gone), avoided);
}

}  // namespace dove::core
