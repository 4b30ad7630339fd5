#include "sim/explore/slurm/slurm_weather.h"

#include <string>
#include <vector>

namespace dove::sim {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kHour_us = 3'600 * kSecond_us;

}  // namespace

void SlurmWeather::begin() {
  if (faults_percent_ == 0 || slurm_.nodes().empty()) return;
  const auto nodes = static_cast<std::int64_t>(slurm_.nodes().size());
  recur(240 * kHour_us / nodes, [this] { lose_node(); });
  recur(24 * kHour_us, [this] { cancel_one(); });
  recur(240 * kHour_us / nodes, [this] { drain_node(); });
  recur(480 * kHour_us / nodes, [this] { open_node(); });
}

void SlurmWeather::recur(std::int64_t mean_us, const std::function<void()>& fault) {
  agenda_.in(some(2 * mean_us) * 100 / faults_percent_, [this, mean_us, fault] {
    if (clear_) return;
    recur(mean_us, fault);
    fault();
  });
}

// For less than SlurmdTimeout, or for as long as the node is repaired.
void SlurmWeather::lose_node() {
  const std::string& node = slurm_.nodes()[random_.below(slurm_.nodes().size())];
  slurm_.falls_silent(node);
  const std::uint64_t kind = random_.below(3);
  const std::int64_t away_us = kind == 0   ? some(240 * kSecond_us)
                               : kind == 1 ? some(kHour_us)
                                           : some(6 * kHour_us);
  agenda_.in(away_us, [this, &node] { slurm_.comes_back(node); });
}

void SlurmWeather::drain_node() {
  const std::string& node = slurm_.nodes()[random_.below(slurm_.nodes().size())];
  slurm_.administrator_drains(node);
  agenda_.in(some(6 * kHour_us), [this, &node] { slurm_.administrator_opens(node); });
}

void SlurmWeather::open_node() {
  slurm_.administrator_opens(slurm_.nodes()[random_.below(slurm_.nodes().size())]);
}

void SlurmWeather::cancel_one() {
  const std::vector<const slurm::JobSeen*> all = slurm_.ours();
  if (!all.empty()) slurm_.administrator_cancels(all[random_.below(all.size())]->id);
}

}  // namespace dove::sim
