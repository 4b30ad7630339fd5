// Which of the user's steps run in which allocations of Slurm's, as far as this machine started
// them: each srun there chooses nodes by itself, and Slurm sees one node at a time.
//
// It also counts the steps of a job. A file of the user's, locked while it is open. Whatever is
// wrong with it, no step is known: a step runs then, too, on the first nodes. Include only from .cc
// files of this part. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "files/descriptor.h"

namespace dove::cli {

// In the folder for temporary files.
std::string step_ledger_path();

class StepLedger {
 public:
  // Waits a second at most for others that have it open.
  explicit StepLedger(const std::string& path);

  // The number of the next step in that run of a job, from 0; -1: there is no ledger.
  std::int64_t next_step(const std::string& run);
  // CPUs of the steps that run in that allocation.
  std::int64_t load_of(const std::string& allocation) const;
  // For as long as this process runs, whatever program it becomes.
  void add(const std::string& allocation, std::int64_t cpus);
  void drop_own();
  // Writes it, and lets others have it.
  void close();

 private:
  struct Entry {
    pid_t pid = 0;
    std::uint64_t started = 0;  // of that process: numbers are used again
    std::string allocation;
    std::int64_t cpus = 0;
  };
  struct Count {
    std::string run;
    std::int64_t steps = 0;
  };
  void read();

  files::Descriptor file_;
  std::vector<Entry> entries_;
  std::vector<Count> counts_;  // of the jobs that started steps last
};

}  // namespace dove::cli
