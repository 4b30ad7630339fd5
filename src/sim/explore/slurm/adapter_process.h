// AdapterProcess: the adapter as it runs beside a Slurm, with the simulated one, over the simulated
// network.
//
// The adapter, its plans, its gate and its rooms are the program's own. It is killed now and then:
// between its cycles, while it waits for the controller, and between two commands. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "model/event.h"
#include "sim/explore/agenda.h"
#include "sim/explore/errand.h"
#include "sim/explore/network.h"
#include "sim/explore/process.h"
#include "sim/explore/slurm/hold_watch.h"
#include "sim/explore/slurm/simulated_slurm.h"
#include "sim/explore/slurm/simulated_steps.h"
#include "slurm/adapter.h"
#include "slurm/gate/gate_folder.h"
#include "slurm/gate/gate_keeper.h"
#include "slurm/rooms/room_keeper.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::sim {

class AdapterProcess {
 public:
  AdapterProcess(Agenda& agenda, Network& network, Oracle& oracle, SimulatedSlurm& slurm,
                 SimulatedSteps& steps, SimulatedSlurmOptions options);
  ~AdapterProcess();

  // Its account, its users' and its declaration; nothing when there is no Slurm.
  std::vector<std::vector<StampedEvent>> declared() const;
  void start();
  void stop() { stopped_ = true; }  // it is not killed any more

 private:
  void begin_process();
  void cycle();
  void go_on(bool asks);
  void heard(std::uint64_t question, Errand::Answer answer);
  void cycle_in(std::int64_t delay_us);
  void kill();
  void die_later();
  // On the errand's thread.
  Result<std::string> call(std::string_view path, std::string body);

  Agenda& agenda_;
  SimulatedSlurm& slurm_;
  SimulatedSteps& steps_;
  const SimulatedSlurmOptions options_;
  HoldWatch watch_;
  Random random_;
  Host host_;
  Process process_;
  wire::Loop loop_;
  wire::AsyncClient client_;
  std::optional<slurm::GateFolder> folder_;
  std::optional<slurm::SchedulerWake> wake_;
  std::optional<slurm::GateKeeper> keeper_;
  std::optional<slurm::RoomKeeper> rooms_;
  std::optional<slurm::Adapter> adapter_;
  std::optional<Errand> errand_;  // a cycle that is under way
  slurm::CycleEnd end_;
  slurm::Look look_ = slurm::Look::kAll;
  bool stopped_ = false;
  std::uint64_t incarnation_ = 0;
  std::uint64_t questions_ = 0;
  std::uint64_t cycles_ = 0;  // planned; one that is overtaken does not come
};

}  // namespace dove::sim
