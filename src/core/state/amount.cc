#include "core/state/amount.h"

#include <algorithm>
#include <cstdint>

#include "core/state/books.h"
#include "core/state/slices.h"
#include "model/resource_names.h"

namespace dove::core {

std::int64_t product_of(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

namespace {

void add(std::vector<Countable>& to, const std::vector<Countable>& from, std::int64_t times) {
  for (const Countable& one : from) {
    auto at = std::lower_bound(to.begin(), to.end(), one.name,
                               [](const Countable& c, const std::string& n) { return c.name < n; });
    if (at == to.end() || at->name != one.name) at = to.insert(at, Countable{one.name, 0});
    at->amount = sum_of(at->amount, product_of(times, one.amount));
  }
}

void add(Amount& amount, const Request& request, std::int64_t times) {
  amount.cores += times * request.cores;
  // These stay within 64 bits by admission's bounds.
  const std::int64_t milli = times * least_milli(request);
  amount.gpus_milli += milli;
  amount.memory_bytes = sum_of(amount.memory_bytes, product_of(times, request.memory_bytes));
  add(amount.countables, request.countables, times);
  if (request.slices > 0) {
    add(amount.countables, {{std::string(kBySlice) + request.slice, request.slices}}, times);
  }
  // Which of several models it gets is known once it has a place.
  if (milli > 0 && !request.gpu_model.empty() && request.gpu_model.find('|') == std::string::npos) {
    add(amount.gpus_by_model, {{model_key(request.gpu_model), milli}}, 1);
  }
}

}  // namespace

std::int64_t least_milli(const Request& request) {
  std::int64_t milli = std::int64_t{request.gpus} * kWholeDevice_milli + request.share_milli;
  if (request.slices > 0) milli += std::int64_t{request.slices} * least_share_milli(request.slice);
  return milli;
}

Amount least_amount(const JobSpec& spec) {
  Amount amount;
  for (const TaskGroup& group : spec.groups) {
    // The fewest nodes, since what is asked for per node is held on each.
    const std::int64_t by_tasks =
        group.tasks_per_node > 0 ? (group.tasks + group.tasks_per_node - 1) / group.tasks_per_node
                                 : 1;
    add(amount, group.per_task, group.tasks);
    add(amount, group.per_node, std::max<std::int64_t>(by_tasks, group.nodes_min));
  }
  return amount;
}

void add_kinds(const Inventory& inventory, const Placement& placement, Amount& amount) {
  for (const DeviceGrant& grant : placement.devices) {
    const auto at = static_cast<std::size_t>(grant.device);
    // The inventory may have shrunk since; such a device has no model any more.
    if (at >= inventory.devices.size()) continue;
    const Device& device = inventory.devices[at];
    add(amount.gpus_by_model, {{model_key(device.model), grant.share_milli}}, 1);
    const SliceTable* table = grant.is_slice() ? slice_table(device) : nullptr;
    if (table == nullptr) continue;
    for (const SliceProfile& profile : table->profiles) {
      // A grant has no name of a profile (decision 7), so the table is asked which one has this
      // shape.
      if (profile.size != grant.slice.size || profile.compute != grant.slice.compute) continue;
      add(amount.countables, {{std::string(kBySlice) + std::string(profile.name), 1}}, 1);
    }
  }
}

void add_amount(const State& state, const Placement& placement, Amount& amount) {
  amount.cores += static_cast<std::int64_t>(placement.cores.size());
  for (const DeviceGrant& grant : placement.devices) amount.gpus_milli += grant.share_milli;
  amount.memory_bytes += placement.memory_bytes;
  add(amount.countables, placement.countables, 1);
  // To find models costs more than the rest, and nobody limits by them.
  if (!state.counts_models) return;
  add_kinds(*state.nodes[placement.node].inventory, placement, amount);
}

Amount amount_of(const State& state, const std::vector<Placement>& placements) {
  Amount amount;
  for (const Placement& placement : placements) add_amount(state, placement, amount);
  return amount;
}

}  // namespace dove::core
