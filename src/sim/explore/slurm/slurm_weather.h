// SlurmWeather: what goes wrong in the simulated Slurm by itself and by people: nodes that it does
// not hear of, for moments or for hours, an administrator's scancel of what the adapter holds, and
// drains of administrators, who also open what the adapter has drained. One thread.
#pragma once

#include <cstdint>
#include <functional>

#include "base/random.h"
#include "sim/explore/agenda.h"
#include "sim/explore/slurm/simulated_slurm.h"

namespace dove::sim {

class SlurmWeather {
 public:
  SlurmWeather(Agenda& agenda, SimulatedSlurm& slurm, std::int64_t faults_percent,
               std::uint64_t seed)
      : agenda_(agenda), slurm_(slurm), faults_percent_(faults_percent), random_(seed) {}

  void begin();
  void clear_up() { clear_ = true; }

 private:
  void recur(std::int64_t mean_us, const std::function<void()>& fault);
  void lose_node();
  void cancel_one();
  void drain_node();
  void open_node();
  std::int64_t some(std::int64_t most_us) {
    return 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most_us)));
  }

  Agenda& agenda_;
  SimulatedSlurm& slurm_;
  const std::int64_t faults_percent_;
  Random random_;
  bool clear_ = false;
};

}  // namespace dove::sim
