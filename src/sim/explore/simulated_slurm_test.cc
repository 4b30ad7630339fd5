#include "sim/explore/simulated_slurm.h"

#include <fmt/format.h>

#include "slurm/cluster_conformance.h"

namespace dove::slurm {
namespace {

// Without faults: those are the weather of an exploration.
class SimulatedBed : public SlurmBed {
 public:
  explicit SimulatedBed(std::uint64_t seed)
      : oracle_(trace_, agenda_, 1),
        slurm_(agenda_, oracle_,
               {.seed = seed,
                .nodes = {"n1"},
                .gpus_per_node = 4,
                .faults_percent = 0,
                .epoch_us = 1'800'000'000'000'000,
                .user = "ada"}) {}

  SlurmCluster& cluster() override { return slurm_; }
  GateControl* gate() override { return &slurm_; }
  std::string node() override { return "n1"; }
  void pass_a_moment() override {
    bool passed = false;
    agenda_.in(100'000, [&passed] { passed = true; });
    while (!passed) agenda_.step();
  }
  std::int64_t begin_open(int gpus) override { return slurm_.begin_open(gpus); }
  std::int64_t begin_gated(int gpus) override { return slurm_.begin_gated(gpus, true); }
  void user_cancels(std::int64_t job) override { slurm_.user_cancels(job); }

 private:
  sim::Trace trace_;
  sim::Agenda agenda_;
  sim::Oracle oracle_;
  sim::SimulatedSlurm slurm_;
};

std::vector<NamedBed> beds() {
  std::vector<NamedBed> all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    all.push_back(
        {fmt::format("seed{}", seed), [seed] { return std::make_unique<SimulatedBed>(seed); }});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Simulated, SlurmConformance, testing::ValuesIn(beds()), bed_name);
INSTANTIATE_TEST_SUITE_P(Simulated, GateConformance, testing::ValuesIn(beds()), bed_name);

}  // namespace
}  // namespace dove::slurm
