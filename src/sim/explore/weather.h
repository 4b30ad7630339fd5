// Weather: when what breaks. Faults come at random, more on some days than on others; the published
// failures of components come besides. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "sim/explore/agenda.h"
#include "sim/explore/clients.h"
#include "sim/explore/control_plane.h"
#include "sim/explore/explore.h"
#include "sim/explore/machine.h"
#include "sim/explore/network.h"

namespace dove::sim {

class Weather {
 public:
  // `control`: the one controller, whose faults are its, too; null: there are several.
  Weather(Agenda& agenda, Network& network, ControlPlane* control,
          std::vector<std::unique_ptr<Machine>>& machines, Clients& clients, std::uint64_t seed)
      : agenda_(agenda),
        network_(network),
        control_(control),
        machines_(machines),
        clients_(clients),
        random_(seed) {}

  void begin(std::int64_t faults_percent);
  // Calls `fault` about once in `mean_us` of ordinary weather. REQUIRES: begin().
  void recur(std::int64_t mean_us, std::function<void()> fault);
  // No more faults; everything that is down comes back within a day.
  void clear_up();
  // A copy of the machine that is not switched on yet.
  using Copy = std::function<std::unique_ptr<Machine>(Machine& original, std::uint64_t number)>;
  void copies(Copy copy) { copy_ = std::move(copy); }
  void controller_was_killed();
  void agent_was_killed(Machine& machine);
  void count(ExploreReport& report) const;

 private:
  void next_day();
  void kill_controller();
  void cut_link();
  void kill_agent();
  void reboot(Machine& machine);
  // Its disk is replaced: the agent joins anew with a token, under its old name.
  void reinstall(Machine& machine);
  void let_join(Machine& machine);
  // Another machine with a copy of the agent's directory is switched on for a while.
  void clone();
  void fail_component();
  void drain(Machine& machine, std::int64_t for_us);
  Machine& any();
  std::int64_t some(std::int64_t most_us) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most_us)));
  }
  // Mostly seconds, sometimes minutes, rarely hours.
  std::int64_t outage_us();

  Agenda& agenda_;
  Network& network_;
  ControlPlane* const control_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  Clients& clients_;
  Random random_;
  std::int64_t faults_percent_ = 100;
  std::int64_t today_percent_ = 100;
  bool clear_ = false;
  Copy copy_;
  std::uint64_t controllers_killed_ = 0;
  std::uint64_t agents_killed_ = 0;
  std::uint64_t reboots_ = 0;
  std::vector<std::unique_ptr<Machine>> clones_;  // on, or off for ever
  std::uint64_t reinstalls_ = 0;
  std::uint64_t cuts_ = 0;
  std::uint64_t component_failures_ = 0;
};

}  // namespace dove::sim
