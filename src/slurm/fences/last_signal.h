// The signal that a job's user wants before its end (user_signal.h), for a job that makes room.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "slurm/cluster.h"

namespace dove::slurm {

// What a job that makes room has after its user's signal, at most.
inline constexpr std::int64_t kSignalWaitMax_s = 600;

// Slurm did not decide anything: it is to be asked again.
bool is_silence(const Error& error);

// Sends the signal, and returns for how many seconds the job is to go on after it: as its user
// wants, and `wait_max_s` at most. 0: it gets none, because its user wants none, because
// `wait_max_s` is 0, or because Slurm refuses it. Error: Slurm does not answer.
Result<std::int64_t> send_last_signal(SlurmCluster& slurm, std::int64_t job,
                                      const std::string& handle, std::int64_t wait_max_s);

}  // namespace dove::slurm
