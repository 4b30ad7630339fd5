// The Slurm of the adapter's tests, and the real one that SLURM_CONF names where
// tests/peers/slurm_conformance_test.py says so.
#include "slurm/cluster_conformance.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "slurm/command_cluster.h"
#include "slurm/fake_slurm_for_test.h"

namespace dove::slurm {
namespace {

using namespace std::chrono_literals;

class FakeBed : public SlurmBed {
 public:
  SlurmCluster& cluster() override { return slurm_; }
  std::string node() override { return "n1"; }
  void pass_a_moment() override {}
  std::int64_t begin_open(int gpus) override {
    std::vector<int> free;
    for (int i = 0; i < 4 && static_cast<int>(free.size()) < gpus; ++i) {
      if (slurm_.holder(i) == nullptr) free.push_back(i);
    }
    return slurm_.add("train", std::move(free)).id;
  }
  std::int64_t begin_signalled() override {
    slurm_.wants_signal_s = 90;
    const std::int64_t id = begin_open(1);
    slurm_.state.jobs.back().may_requeue = true;
    return id;
  }
  void user_cancels(std::int64_t job) override { EXPECT_TRUE(slurm_.release(job).ok()); }

 private:
  FakeSlurm slurm_;
};

// Node n0; jobs of its partition `main` wait at the gate, those of `open` do not.
class RealBed : public SlurmBed {
 public:
  RealBed() { clear(); }
  ~RealBed() override { clear(); }

  SlurmCluster& cluster() override { return slurm_; }
  GateControl* gate() override { return &gate_; }
  std::string node() override { return "n0"; }
  void pass_a_moment() override { std::this_thread::sleep_for(100ms); }
  std::int64_t begin_open(int gpus) override {
    return submit({"--partition=open", "--nodelist=n0", fmt::format("--gres=gpu:{}", gpus)});
  }
  std::int64_t begin_gated(int gpus) override {
    return submit({"--partition=main", fmt::format("--gres=gpu:{}", gpus)});
  }
  std::int64_t begin_signalled() override {
    return submit({"--partition=open", "--nodelist=n0", "--gres=gpu:1", "--requeue"},
                  "#!/bin/sh\n#SBATCH --signal=USR1@90\nexec sleep 300\n");
  }
  void user_cancels(std::int64_t job) override { run({"scancel", std::to_string(job)}); }

 private:
  static std::string run(std::vector<std::string> words, std::string input = {}) {
    const Result<CommandEnd> end =
        run_command({.words = std::move(words), .output_max = 64 << 10, .input = std::move(input)});
    EXPECT_TRUE(end.ok() && end->code == 0) << (end.ok() ? end->said : end.error().message);
    return end.ok() ? end->output : "";
  }
  // A script of its own is read from the input.
  static std::int64_t submit(const std::vector<std::string>& more, std::string script = {}) {
    std::vector<std::string> words{"sbatch",    "--parsable", "--uid=nobody",
                                   "--chdir=/", "--mem=100",  "--output=/dev/null"};
    words.insert(words.end(), more.begin(), more.end());
    if (script.empty()) words.insert(words.end(), {"--wrap", "exec sleep 300"});
    const std::string said = run(std::move(words), std::move(script));
    std::int64_t id = 0;
    std::from_chars(said.data(), said.data() + said.size(), id);
    EXPECT_GT(id, 0);
    return id;
  }
  // Until no job of any user holds anything, or waits.
  void clear() {
    for (int i = 0; i < 600; ++i) {
      if (run({"squeue", "--noheader", "--format=%i"}).empty()) return;
      if (i % 20 == 0) run({"scancel", "--user=nobody"});
      if (i % 20 == 0) run({"scancel", "--user=root"});
      pass_a_moment();
    }
    ADD_FAILURE() << "jobs do not end";
  }

  CommandCluster slurm_;
  CommandGate gate_;
};

template <class Bed>
NamedBed bed(const char* name) {
  return {name, [] { return std::make_unique<Bed>(); }};
}

std::vector<NamedBed> real_beds() {
  if (std::getenv("DOVE_REAL_SLURM") == nullptr) return {};
  return {bed<RealBed>("real")};
}

INSTANTIATE_TEST_SUITE_P(InMemory, SlurmConformance, testing::Values(bed<FakeBed>("fake")),
                         bed_name);
INSTANTIATE_TEST_SUITE_P(Peer, SlurmConformance, testing::ValuesIn(real_beds()), bed_name);
INSTANTIATE_TEST_SUITE_P(Peer, GateConformance, testing::ValuesIn(real_beds()), bed_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GateConformance);

}  // namespace
}  // namespace dove::slurm
