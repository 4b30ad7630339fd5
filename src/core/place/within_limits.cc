#include "core/place/within_limits.h"

#include <algorithm>

#include "model/resource_names.h"

namespace dove::core {
namespace {

// At most this number of GPU models is avoided, one after the other, when limits are in the way.
constexpr int kModels_tried_max = 8;

// Adds the nodes with a model of GPU of which there may be no more; false: that is not in the way.
// Other models may still be free and allowed. Which model a job gets is known only by its places,
// so a search is tried, and tried again without the nodes of the model that is used up.
bool avoid_models(const State& state, const std::vector<Reason>& broken,
                  std::vector<NodeId>& avoided) {
  // Nodes with several models are avoided whole: a search cannot be told which devices to leave.
  const std::size_t before = avoided.size();
  for (const Reason& reason : broken) {
    if (!reason.resource.starts_with(kByModel)) continue;
    const std::string model = reason.resource.substr(kByModel.size());
    for (const Node& node : state.nodes) {
      if (node.inventory == nullptr) continue;
      const auto& devices = node.inventory->devices;
      const bool has = std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
        return model_key(device.model) == model;
      });
      if (has) avoided.push_back(node.id);
    }
  }
  return avoided.size() > before;
}

}  // namespace

bool same_limit(const Reason& a, const Reason& b) {
  return a.kind == b.kind && a.subject == b.subject && a.resource == b.resource;
}

// Otherwise least_amount is exact, and limits were checked before the search. On nodes of executors
// a job may get more threads than it asks for (gives_whole_cores).
bool amount_hangs_on_places(const State& state, const JobSpec& spec) {
  return state.counts_models || spec.exclusive || !state.executors.empty() ||
         std::any_of(spec.groups.begin(), spec.groups.end(), [](const TaskGroup& group) {
           return group.per_task.slices > 0 || !(group.per_node == Request{});
         });
}

std::optional<std::vector<Placement>> first_places(const LimitedSearch& search) {
  auto places = search.find(search.avoided);
  // To avoid nodes that failed the job before is a wish. No place at all is worse.
  if (!places && !search.avoided.empty()) places = search.find({});
  return places;
}

std::optional<std::vector<Placement>> places_within_limits(const LimitedSearch& search,
                                                           std::vector<Reason>* broken_first) {
  auto places = first_places(search);
  std::vector<NodeId> without = search.avoided;
  for (int models = 0; places && models < kModels_tried_max; ++models) {
    auto broken = broken_limits(search.state, search.spec, amount_of(search.state, *places), false);
    // Limits that are thought away, when an explanation asks what else is in the way.
    std::erase_if(broken, [&](const Reason& one) {
      return std::any_of(search.excused.begin(), search.excused.end(),
                         [&](const Reason& other) { return same_limit(one, other); });
    });
    if (broken.empty()) return places;
    // The limits that the job's own places break; later places are detours.
    if (models == 0 && broken_first != nullptr) *broken_first = broken;
    // Another limit is broken, and which nodes the job gets does not change that.
    if (!avoid_models(search.state, broken, without)) return std::nullopt;
    places = search.find(without);
  }
  return std::nullopt;
}

}  // namespace dove::core
