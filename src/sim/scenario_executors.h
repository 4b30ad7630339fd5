// The words of scenarios about executors: what is declared of them and what their adapters say.
//
//   executor slurm nodes=n[1-2] [plain]      declared, and answering; plain: without placeholders
//     [runs] [gate] [lent_gpus=0-1] [lent_cores=4]      what jobs it may be given, and of what
//   work a on=n1 is=running [exit=1] [why=...]        running or ended, of a job that it runs
//   contact slurm is=silent                  silent, mute, answering
//   foreign 1234 on=n1 gpus=0-1 cores=0-3 [mem=1G] [user=ada] [account=lab] [until=60s] [over]
//   placeholder a on=n1 is=confirmed [attempt=1]      asked, confirmed, refused, gone
//   said n1 is=drained [why=fan]             up, drained, down
// Each takes executor=NAME, "slurm" unless it is given.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/state/state.h"
#include "sim/scenario_words.h"

namespace dove::sim {

// The events of the line; none when its verb is another one.
std::vector<Event> executor_events(const core::State& state, const std::string& verb,
                                   const std::string& name, Options& options,
                                   const FindJob& find_job);

}  // namespace dove::sim
