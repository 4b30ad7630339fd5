#include "core/admit/admit_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/place/device_fit.h"
#include "core/state/books.h"
#include "model/resource_names.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

constexpr std::int32_t kSlices_max = 1'000'000;

Error wrong(const char* code, std::string message, const std::string& field) {
  return Error{ErrorKind::kInvalid, code, std::move(message), field};
}

// "1g.10gb, 2g.20gb" of a table.
std::string names_of(const SliceTable& table) {
  std::string names;
  for (const SliceProfile& profile : table.profiles) {
    if (!names.empty()) names += ", ";
    names += profile.name;
  }
  return names;
}

std::vector<const Node*> nodes_of(const State& state, const Pool& pool) {
  std::vector<const Node*> nodes;
  for (const Node& node : state.nodes) {
    // Drained and silent nodes count: what cannot be cut there never can be, and they come back.
    if (node.removed || node.inventory == nullptr || node.inventory->devices.empty()) continue;
    if (text::any_hostlist_holds(pool.nodes, node.name)) nodes.push_back(&node);
  }
  return nodes;
}

// "H200: 1g.18gb, 1g.35gb; L40S: cannot be cut", for each model of the nodes.
std::string known_text(const std::vector<const Node*>& nodes) {
  // A set: a thousand equal nodes are one line, and the lines come in the same order each time.
  std::set<std::string> lines;
  for (const Node* node : nodes) {
    for (const Device& device : node->inventory->devices) {
      const SliceTable* table = slice_table(device);
      lines.insert(fmt::format("{}: {}", device.model.empty() ? device.kind : device.model,
                               table == nullptr ? "cannot be cut" : names_of(*table)));
    }
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

bool has_profile(const Node& node, const Request& request) {
  return std::any_of(node.inventory->devices.begin(), node.inventory->devices.end(),
                     [&](const Device& device) {
                       const SliceTable* table = slice_table(device);
                       return matches(request, device) && table != nullptr &&
                              find_profile(*table, request.slice) != nullptr;
                     });
}

// How many slices of the request's profile the node holds when it is idle.
std::int32_t most_slices(const Node& node, Request request) {
  // By the search's own count on idle devices, so that admission and placement cannot disagree.
  const std::vector<std::int32_t> idle(node.inventory->devices.size(), kWholeDevice_milli);
  request.slices = 1;
  return device_capacity({*node.inventory, idle, {}, {}}, request,
                         std::numeric_limits<std::int32_t>::max());
}

// `times`: on one node.
Result<void> check_request(const std::vector<const Node*>& nodes, const std::string& pool,
                           const Request& request, std::int64_t times, const std::string& field) {
  if (request.slices == 0) return {};
  // The name before the number: a profile that no device has is a mistake in the file, and its
  // count would be 0.
  const bool known = std::any_of(nodes.begin(), nodes.end(),
                                 [&](const Node* node) { return has_profile(*node, request); });
  if (!known) {
    return wrong(
        "slice_unknown",
        fmt::format("no device of pool \"{}\"{} can be cut into \"{}\"; known are: {}", pool,
                    request.gpu_model.empty() ? "" : " of model " + request.gpu_model,
                    request.slice, known_text(nodes)),
        field + ".slice");
  }
  std::int32_t most = 0;
  for (const Node* node : nodes) most = std::max(most, most_slices(*node, request));
  const std::int64_t wanted = times * request.slices;
  if (wanted <= most) return {};
  return wrong("too_many_slices",
               fmt::format("{} slices {} on one node are asked for; the nodes of pool \"{}\" hold "
                           "{} at most: ask for fewer, or spread the tasks over more nodes",
                           wanted, request.slice, pool, most),
               field + ".slices");
}

}  // namespace

Result<void> check_slices(const Request& request, const std::string& field) {
  if (request.slices < 0 || request.slices > kSlices_max) {
    return wrong("amount_out_of_range",
                 fmt::format("{}.slices is {}: use a number from 0 to {}", field, request.slices,
                             kSlices_max),
                 field + ".slices");
  }
  // A profile without a number, or a number without a profile, would be read as nothing at all.
  if ((request.slices > 0) != !request.slice.empty()) {
    return wrong("slice_and_slices",
                 "slices are asked for with their profile and their number: slice and slices",
                 field + ".slice");
  }
  if (request.slices == 0) return {};
  if (request.gpus > 0 || request.share_milli > 0) {
    return wrong("gpus_and_slices",
                 "a task gets whole devices, a share of one, or slices: leave out the others",
                 field + ".slice");
  }
  // Kept as the tables write it. Limits and usage are by this name, and two spellings would be two
  // resources.
  if (slice_name(request.slice) == request.slice) return {};
  return wrong(
      "slice_name",
      fmt::format("\"{}\" is not the name of a slice: write it as in 1g.10gb", request.slice),
      field + ".slice");
}

Result<void> check_slices_of_pool(const State& state, const JobSpec& spec) {
  const bool sliced = std::any_of(spec.groups.begin(), spec.groups.end(), [](const TaskGroup& g) {
    return g.per_task.slices > 0 || g.per_node.slices > 0;
  });
  if (!sliced) return {};
  const Pool& pool = *pool_of(state, spec);
  const std::vector<const Node*> nodes = nodes_of(state, pool);
  // Nothing is known of the pool's devices yet: the job waits until nodes join.
  if (nodes.empty()) return {};
  for (std::size_t i = 0; i < spec.groups.size(); ++i) {
    const TaskGroup& group = spec.groups[i];
    const std::string field = fmt::format("groups[{}]", i);
    // Only what has to be on one node is checked. Tasks that may spread never ask too much of one
    // node.
    const std::int32_t together = std::clamp(group.tasks_per_node, 1, group.tasks);
    TRY(check_request(nodes, pool.name, group.per_task, together, field + ".per_task"));
    TRY(check_request(nodes, pool.name, group.per_node, 1, field + ".per_node"));
  }
  return {};
}

}  // namespace dove::core
