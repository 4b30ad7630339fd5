// SimulatedSteps: what a Slurm runs for us in allocations of the adapter, with the sruns beside it.
//
// Its tasks are physical: they begin late, run on when their srun has gone or nobody remembers it,
// end by themselves, by signals, or with their allocation. What is seen of them may be late, too:
// how they ended, and that they ended at all. The adapter's machine may be lost with all that it
// kept. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/explore/agenda.h"
#include "sim/explore/oracle.h"
#include "sim/explore/slurm/simulated_slurm.h"
#include "slurm/works/steps.h"

namespace dove::sim {

class SimulatedSteps : public slurm::Steps, private InsideAllocations {
 public:
  // Speaks for what runs in the allocations of `slurm`, which must not outlive it.
  SimulatedSteps(Agenda& agenda, Oracle& oracle, SimulatedSlurm& slurm, bool has_faults,
                 std::uint64_t seed);

  // The next adapter begins on another machine.
  void lose_all() { sruns_.clear(); }
  // Nothing goes wrong any more.
  void clear_up() { has_faults_ = false; }
  std::uint64_t begun() const { return begun_; }
  std::uint64_t lost() const { return lost_; }  // sruns of which nobody saw the end

  Result<std::vector<slurm::StepSeen>> all() override;
  Result<void> begin(const slurm::StepWanted& step) override;
  Result<void> signal(const slurm::StepSeen& step, int signal, int number,
                      std::int64_t at_s) override;
  Result<void> warn(const slurm::StepSeen& step, const slurm::Warning& warning) override;
  Result<void> give_up(const slurm::PlaceholderKey& key) override;
  void forget(const slurm::PlaceholderKey& key) override;

 private:
  struct Srun {
    slurm::StepSeen seen;
    std::uint64_t number = 0;  // of all that were begun
    int tasks = 0;             // that run
    int code = 0;
    bool is_numb = false;  // it does not notice what becomes of them
  };
  struct Task {
    std::uint64_t srun = 0;  // its number
    int place = 0;           // among the tasks of its srun
    TaskFacts facts;
    bool is_deaf = false;  // to all signals but SIGKILL
  };
  using Tasks = std::map<std::uint64_t, Task>;

  bool runs_in(std::int64_t allocation) const override;
  void signalled(std::int64_t allocation, int signal) override;
  void killed(std::int64_t allocation) override;

  Srun* find(std::uint64_t number);
  void begin_tasks(std::uint64_t number, const slurm::StepWanted& step);
  void begin_task(std::uint64_t number, const slurm::StepWanted& step,
                  const slurm::NodeAllocation& held, int place);
  void end_task(std::uint64_t task, TaskExit exit);
  void say(Srun& srun, const std::string& line);
  void end_srun(std::uint64_t number, int code, std::int64_t delay_us);
  void break_later(std::uint64_t number);

  Agenda& agenda_;
  Oracle& oracle_;
  SimulatedSlurm& slurm_;
  bool has_faults_;
  Random random_;
  std::map<slurm::PlaceholderKey, Srun> sruns_;  // that the adapter's machine knows
  std::map<std::int64_t, Tasks> tasks_;          // by allocation and number: that run
  std::uint64_t begun_ = 0;
  std::uint64_t tasks_begun_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace dove::sim
