// The partition of a node in which an allocation of ours is requested, and with which limit.
//
// A partition has a greatest time limit, which Slurm's administrator may exceed once a job runs,
// but not at submission. Jobs of a partition with a higher tier may preempt those of a lower one,
// so the highest comes first. A partition that gives whole nodes (OverSubscribe=EXCLUSIVE) cannot
// be used: an allocation has to hold what the ledger gave and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/cluster.h"

namespace dove::slurm {

struct PartitionSeen {
  std::string name;
  bool is_up = true;
  bool gives_whole_nodes = false;
  std::int64_t limit_minutes = 0;  // the greatest; 0: there is none
  std::int64_t tier = 1;
};

// As `scontrol show partition --oneliner` prints them. Pure.
std::vector<PartitionSeen> read_partition_lines(std::string_view text);

// What to ask for, one after the other until one is not refused. Each has partitions of one tier,
// and the wanted limit, or the greatest that they allow. With partitions that are not known, what
// was asked for. `known`: all that Slurm has. Pure.
std::vector<Ask> ask_in_partitions(const Ask& ask, const std::vector<PartitionSeen>& known);

}  // namespace dove::slurm
