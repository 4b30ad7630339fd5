#include "core/admit/quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/place/reservation.h"
#include "core/state/amount.h"
#include "core/state/books.h"
#include "core/state/holders/month_use.h"
#include "model/resource_names.h"

namespace dove::core {
namespace {

using Usages = std::map<std::string, Usage>;

std::int64_t amount_in(const std::map<std::string, std::int64_t>& used, const std::string& name) {
  const auto found = used.find(name);
  return found == used.end() ? 0 : found->second;
}

Usage usage_in(const Usages& usages, const std::string& name) {
  const auto found = usages.find(name);
  return found == usages.end() ? Usage() : found->second;
}

// What a holder's rows are made of. `counted` is what counts toward limits at once, of which
// `held` runs.
// The same rows serve all four kinds of holders. They differ only in what counts: what runs, or
// also what waits.
struct Counted {
  HolderKind holder;
  const std::string& name;
  const Limits& limits;
  Usage counted;
  Usage held;
};

void add_one_job(const Counted& of, std::vector<QuotaRow>& rows) {
  const JobLimits& job = of.limits.job;
  // Nothing is ever used of a limit on one job; the row says what may be asked for.
  const auto add = [&](const char* resource, std::int64_t limit) {
    if (limit >= 0) rows.push_back({word(of.holder), of.name, resource, 0, limit});
  };
  add("job_nodes", job.nodes);
  add("job_cores", job.cores);
  add("job_gpus_milli", job.gpus_milli);
  add("job_memory_bytes", job.memory_bytes);
  add("job_time_limit_s", job.time_limit.us > 0 ? job.time_limit.us / 1'000'000 : -1);
}

void add_rows(const State& state, const Counted& of, std::vector<QuotaRow>& rows) {
  const Usage& usage = of.counted;
  const auto add = [&](std::string resource, std::int64_t used, std::int64_t held,
                       std::int64_t limit) {
    // What is not limited is no row.
    if (limit < 0) return;
    rows.push_back({word(of.holder), of.name, std::move(resource), used, limit,
                    // What is counted beyond what is held is asked for by waiting jobs.
                    std::max<std::int64_t>(used - held, 0)});
  };
  add("jobs_running", of.held.jobs_running, of.held.jobs_running, of.limits.jobs_running);
  add("jobs_waiting", usage.jobs_waiting, usage.jobs_waiting, of.limits.jobs_waiting);
  add("cores", usage.cores, of.held.cores, of.limits.cores);
  add("gpus_milli", usage.gpus_milli, of.held.gpus_milli, of.limits.gpus_milli);
  add("memory_bytes", usage.memory_bytes, of.held.memory_bytes, of.limits.memory_bytes);
  for (const Countable& one : of.limits.countables) {
    add(one.name, amount_in(usage.countables, one.name), amount_in(of.held.countables, one.name),
        one.amount);
  }
  for (const Countable& one : of.limits.gpus_by_model) {
    add(std::string(kByModel) + one.name, amount_in(usage.gpus_by_model, one.name),
        amount_in(of.held.gpus_by_model, one.name), one.amount);
  }
  // Use is kept in thousandths of a GPU.
  if (has_month(of.limits)) {
    const std::int64_t used =
        month_use_of(state, months_of(state, of.holder), usages_of(state, of.holder), of.name) /
        1000;
    rows.push_back({word(of.holder), of.name, "gpu_ms_month", used, of.limits.gpu_ms_month, 0,
                    month_start(month_of(state.now) + 1)});
  }
  add_one_job(of, rows);
}

// Milli and bytes as people write them.
std::string amount_text(const std::string& resource, std::int64_t value) {
  const bool is_milli = resource.ends_with("gpus_milli") || resource.starts_with(kByModel);
  // Whole GPUs without a fraction, as nearly all are.
  if (is_milli && value % 1000 != 0) return fmt::format("{}.{:03}", value / 1000, value % 1000);
  if (is_milli) return std::to_string(value / 1000);
  if (resource == "gpu_ms_month") return gpu_hours_text(value);
  if (resource == "job_time_limit_s") return fmt::format("{} s", value);
  if (!resource.ends_with("memory_bytes")) return std::to_string(value);
  return fmt::format("{} MiB", value >> 20);
}

std::string resource_text(const std::string& resource) {
  if (resource == "gpu_ms_month") return "GPU hours this month";
  if (resource == "job_time_limit_s") return "time limit of one job";
  if (resource.starts_with("job_")) return resource_text(resource.substr(4)) + " of one job";
  if (resource == "gpus_milli") return "GPUs";
  if (resource == "memory_bytes") return "memory";
  if (resource.starts_with(kByModel)) {
    return fmt::format("GPUs of model {}", resource.substr(kByModel.size()));
  }
  return resource;
}

std::int64_t least_nodes(const JobSpec& spec) {
  std::int64_t nodes = 0;
  for (const TaskGroup& group : spec.groups) {
    // As many as the tasks need at their densest. Without `tasks_per_node` all may be on one.
    const std::int64_t by_tasks =
        group.tasks_per_node > 0 ? (group.tasks + group.tasks_per_node - 1) / group.tasks_per_node
                                 : 1;
    nodes += std::max<std::int64_t>(by_tasks, group.nodes_min);
  }
  return nodes;
}

std::string who(HolderKind holder, const std::string& name) {
  return fmt::format("{} {}", word(holder), name);
}

// How long one holder lets one job run.
Result<void> check_job_time(const State& state, const JobSpec& spec, HolderKind holder,
                            const std::string& name, Span limit) {
  if (limit.us <= 0) return {};
  // The pool's limit counts where the job has none, as it is what the job will be stopped by.
  const Span asked = time_limit_of(state, spec);
  const std::int64_t limit_s = limit.us / 1'000'000;
  // Without a limit it would run past any.
  if (asked.us == 0) {
    return Error{ErrorKind::kInvalid, "time_limit_needed",
                 fmt::format("jobs of {} run for {} s at most, and this one has no time limit: "
                             "give it one (--time), or have {} raise it",
                             who(holder, name), limit_s, raised_by(state, word(holder), name)),
                 "time_limit"};
  }
  if (asked <= limit) return {};
  return Error{
      ErrorKind::kInvalid, "job_limit",
      fmt::format("jobs of {} run for {} s at most, and {} is {} s, over by {} s: give it a "
                  "shorter one (--time), or have {} raise it",
                  who(holder, name), limit_s,
                  spec.time_limit.us > 0 ? "the time limit of this one" : "its pool's time limit",
                  // Rounded up: what is over by less than a second would read "over by 0 s".
                  asked.us / 1'000'000, (asked.us - limit.us + 999'999) / 1'000'000,
                  raised_by(state, word(holder), name)),
      "time_limit"};
}

void check_job(const State& state, const JobSpec& spec, HolderKind holder, const std::string& name,
               const JobLimits& limits, std::vector<Result<void>>& verdicts) {
  // The least that it can take. What it really takes may be more, and is checked again at the
  // launch.
  const Amount least = least_amount(spec);
  const auto check = [&](const char* resource, std::int64_t asked,
                         std::int64_t limit) -> Result<void> {
    if (limit < 0 || asked <= limit) return {};
    return Error{
        ErrorKind::kInvalid, "job_limit",
        fmt::format("{} may have {} {} in one job and this one asks for {}, over by {}: "
                    "ask for less, or have {} raise it",
                    who(holder, name), amount_text(resource, limit),
                    resource_text(std::string(resource).substr(4)), amount_text(resource, asked),
                    amount_text(resource, asked - limit), raised_by(state, word(holder), name)),
        std::string(resource).substr(4)};
  };
  verdicts.push_back(check("job_nodes", least_nodes(spec), limits.nodes));
  verdicts.push_back(check("job_cores", least.cores, limits.cores));
  verdicts.push_back(check("job_gpus_milli", least.gpus_milli, limits.gpus_milli));
  verdicts.push_back(check("job_memory_bytes", least.memory_bytes, limits.memory_bytes));
  verdicts.push_back(check_job_time(state, spec, holder, name, limits.time_limit));
}

// The holders that have used up this month, as far as the job has GPUs.
std::vector<Reason> used_up(const State& state, const JobSpec& spec) {
  // One function says what is broken, here and at the launch; the month is picked out.
  std::vector<Reason> broken = broken_limits(state, spec, least_amount(spec), false);
  std::erase_if(broken, [](const Reason& one) { return one.resource != "gpu_ms_month"; });
  return broken;
}

std::string used_up_text(const State& state, const Reason& r) {
  return fmt::format("{} has used {} of {} GPU hours in {} (UTC), over by {}",
                     who(holder_of(r), r.subject), gpu_hours_text(r.used), gpu_hours_text(r.limit),
                     month_name(month_of(state.now)), gpu_hours_text(r.used - r.limit));
}

}  // namespace

std::vector<QuotaRow> quota_of(const State& state, const std::string& user,
                               const std::vector<std::string>& projects) {
  std::vector<QuotaRow> rows;
  const auto simply = [&](HolderKind holder, const std::string& name, const Limits& limits) {
    const Usage usage = usage_in(usages_of(state, holder), name);
    add_rows(state, {holder, name, limits, usage, usage}, rows);
  };
  if (const Limits* limits = limits_of_user(state, user)) {
    simply(HolderKind::kUser, user, *limits);
  }
  // A set: several projects of one domain show it once.
  std::set<std::string> domains;
  if (const auto of = state.users.find(user); of != state.users.end()) {
    // A job counts towards its project's domain, or towards the user's where it is for no project.
    // Both are shown.
    domains.insert(of->second.domain);
  }
  for (const std::string& name : projects) {
    // Projects that were deleted since are left out.
    const auto project = state.projects.find(name);
    if (project == state.projects.end()) continue;
    domains.insert(project->second.domain);
    // A project's limits are those of all its jobs that have not ended, waiting ones included.
    add_rows(state,
             {HolderKind::kProject, name, project->second.limits,
              usage_in(state.asked_by_project, name), usage_in(state.usage_by_project, name)},
             rows);
  }
  for (const std::string& name : domains) {
    const auto domain = state.domains.find(name);
    if (domain == state.domains.end()) continue;
    add_rows(state,
             {HolderKind::kDomain, name, domain->second.limits,
              usage_in(state.asked_by_domain, name), usage_in(state.usage_by_domain, name)},
             rows);
  }
  // All of them: which one a job will be submitted to is not known here.
  for (const auto& [name, queue] : state.queues) {
    simply(HolderKind::kQueue, name, queue.limits);
  }
  return rows;
}

std::string over_text(const Reason& r) {
  const auto amount = [&](std::int64_t value) { return amount_text(r.resource, value); };
  return fmt::format("{}: {} used, {} asked, limit {}, over by {}", resource_text(r.resource),
                     amount(r.used), amount(r.needs), amount(r.limit),
                     amount(r.used + r.needs - r.limit));
}

std::vector<Result<void>> check_job_limits(const State& state, const JobSpec& spec) {
  std::vector<Result<void>> verdicts;
  // Found at the submission, as no waiting will make such a job smaller.
  each_holder(state, spec, [&](HolderKind holder, const std::string& name, const Limits& limits) {
    // All that the first holder refuses. Those of the others would mostly repeat it.
    const bool is_refused =
        std::any_of(verdicts.begin(), verdicts.end(), [](const auto& one) { return !one.ok(); });
    if (is_refused || limits.job == JobLimits{}) return;
    check_job(state, spec, holder, name, limits.job, verdicts);
  });
  return verdicts;
}

Result<void> check_month(const State& state, const JobSpec& spec) {
  for (const Reason& one : used_up(state, spec)) {
    // It can wait for the next month; then this is a warning, not a refusal.
    // `until` is the first instant of the next month.
    if (latest_start(state, spec) >= one.until) continue;
    return Error{
        ErrorKind::kExhausted, "month_used_up",
        fmt::format("{}, and the deadline does not leave time to wait for the next month: "
                    "give it a later deadline, or have {} raise the limit",
                    used_up_text(state, one), raised_by(state, word(holder_of(one)), one.subject)),
        "deadline"};
  }
  return {};
}

std::string month_warning(const State& state, const JobSpec& spec) {
  const std::vector<Reason> broken = used_up(state, spec);
  if (broken.empty()) return "";
  // One of several is enough: the job waits for the same instant for all of them.
  const Reason& one = broken.front();
  return fmt::format("{}: the job waits for the next month, or until {} raises the limit",
                     used_up_text(state, one), raised_by(state, word(holder_of(one)), one.subject));
}

}  // namespace dove::core
