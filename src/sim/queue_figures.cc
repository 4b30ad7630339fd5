#include "sim/queue_figures.h"

#include <algorithm>

namespace dove::sim {
namespace {

double in_s(Span span) { return static_cast<double>(span.us) / 1e6; }

}  // namespace

QueueFigures figures_of(const QueueTrace& trace, const QueueResult& result, std::int64_t gpus) {
  QueueFigures found;
  found.accounts.resize(trace.accounts.size());
  for (std::size_t i = 0; i < trace.accounts.size(); ++i) {
    found.accounts[i].name = trace.accounts[i];
  }
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const QueueJob& job = trace.jobs[i];
    const double wait_s = in_s(result.waited[i]);
    found.wait_s += wait_s;
    const double took_s = result.took.empty() ? wait_s + in_s(job.run) : in_s(result.took[i]);
    found.jct_s += took_s;
    found.jobs_waited += result.waited[i].us > 0;
    AccountFigures& account = found.accounts[job.account];
    ++account.jobs;
    account.wait_s += wait_s;
    account.slowdown += std::max(1.0, took_s / std::max(in_s(job.run), 10.0));
  }
  const auto count = static_cast<double>(trace.jobs.size());
  found.wait_s /= count;
  found.jct_s /= count;
  std::vector<Span> ascending = result.waited;
  std::sort(ascending.begin(), ascending.end());
  found.wait_p99_s = in_s(ascending[ascending.size() * 99 / 100]);
  found.wait_max_s = in_s(ascending.back());
  found.makespan_s = static_cast<double>(result.last_end.us) / 1e6;
  if (gpus > 0) {
    found.use_pct = static_cast<double>(result.used_gpu_us) / static_cast<double>(gpus) /
                    static_cast<double>(result.last_end.us) * 100;
  }
  for (AccountFigures& account : found.accounts) {
    if (account.jobs == 0) continue;
    account.wait_s /= static_cast<double>(account.jobs);
    account.slowdown /= static_cast<double>(account.jobs);
    if (account.slowdown > found.worst.slowdown) found.worst = account;
  }
  return found;
}

}  // namespace dove::sim
