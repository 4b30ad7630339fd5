#include "core/admit/quota.h"

#include <fmt/format.h>

#include "core/place/limits.h"

namespace dove::core {
namespace {

using Usages = std::map<std::string, Usage>;

std::int64_t amount_in(const std::map<std::string, std::int64_t>& used, const std::string& name) {
  const auto found = used.find(name);
  return found == used.end() ? 0 : found->second;
}

void add_rows(const char* level, const std::string& name, const Limits& limits,
              const Usages& usages, std::vector<QuotaRow>& rows) {
  const auto found = usages.find(name);
  const Usage usage = found == usages.end() ? Usage() : found->second;
  const auto add = [&](std::string resource, std::int64_t used, std::int64_t limit) {
    if (limit >= 0) rows.push_back({level, name, std::move(resource), used, limit});
  };
  add("jobs_running", usage.jobs_running, limits.jobs_running);
  add("jobs_waiting", usage.jobs_waiting, limits.jobs_waiting);
  add("cores", usage.cores, limits.cores);
  add("gpus_milli", usage.gpus_milli, limits.gpus_milli);
  add("memory_bytes", usage.memory_bytes, limits.memory_bytes);
  for (const Countable& one : limits.countables) {
    add(one.name, amount_in(usage.countables, one.name), one.amount);
  }
  for (const Countable& one : limits.gpus_by_model) {
    add(std::string(kByModel) + one.name, amount_in(usage.gpus_by_model, one.name), one.amount);
  }
}

// Milli and bytes as people write them.
std::string amount_text(const std::string& resource, std::int64_t value) {
  const bool is_milli = resource == "gpus_milli" || resource.starts_with(kByModel);
  if (is_milli && value % 1000 != 0) return fmt::format("{}.{:03}", value / 1000, value % 1000);
  if (is_milli) return std::to_string(value / 1000);
  if (resource != "memory_bytes") return std::to_string(value);
  return fmt::format("{} MiB", value >> 20);
}

std::string resource_text(const std::string& resource) {
  if (resource == "gpus_milli") return "GPUs";
  if (resource == "memory_bytes") return "memory";
  if (resource.starts_with(kByModel)) {
    return fmt::format("GPUs of model {}", resource.substr(kByModel.size()));
  }
  return resource;
}

}  // namespace

std::vector<QuotaRow> quota_of(const State& state, const std::string& user,
                               const std::vector<std::string>& projects) {
  std::vector<QuotaRow> rows;
  if (const Limits* limits = limits_of_user(state, user)) {
    add_rows("user", user, *limits, state.usage_by_user, rows);
  }
  for (const std::string& name : projects) {
    const auto project = state.projects.find(name);
    if (project == state.projects.end()) continue;
    // A project's limits are those of all its jobs that have not ended, waiting ones included.
    add_rows("project", name, project->second.limits, state.asked_by_project, rows);
  }
  for (const auto& [name, queue] : state.queues) {
    add_rows("queue", name, queue.limits, state.usage_by_queue, rows);
  }
  return rows;
}

std::string raised_by(const State& state, const std::string& level, const std::string& name) {
  const auto project = level == "project" ? state.projects.find(name) : state.projects.end();
  if (project == state.projects.end() || project->second.domain.empty()) {
    return "an administrator of the cluster";
  }
  return fmt::format("an administrator of domain {}, or of the cluster", project->second.domain);
}

std::string over_text(const Reason& r) {
  const auto amount = [&](std::int64_t value) { return amount_text(r.resource, value); };
  return fmt::format("{}: {} used, {} asked, limit {}, over by {}", resource_text(r.resource),
                     amount(r.used), amount(r.needs), amount(r.limit),
                     amount(r.used + r.needs - r.limit));
}

}  // namespace dove::core
