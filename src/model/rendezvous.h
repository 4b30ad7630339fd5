// What tells a program that it is one rank of a distributed run, and where to meet the others:
// the variables of torch.distributed, torchrun and TensorFlow. The same whoever starts the ranks.
//
// Tasks have them, a batch script has none: started plainly, it would wait for ranks that nobody
// starts. DOVE_GIVEN names what a task was given, for commands that it starts itself: that is not
// their own. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"

namespace dove {

// The tasks that meet: those of an attempt, or of one of its steps.
struct Rendezvous {
  struct Node {
    std::string address;
    std::vector<Rank> ranks;
  };
  std::vector<Node> nodes;
  std::string id;
  int port = 0;  // the same on all nodes, below the ephemeral range
};

// One of them.
struct RankPlace {
  Rank rank = 0;
  std::int32_t local_rank = 0;
  std::int32_t node_rank = 0;  // of its node, in Rendezvous::nodes
};

using RankVariables = std::map<std::string, std::string>;
RankVariables rank_variables(const Rendezvous& rendezvous, const RankPlace& place);

// "RANK=1 WORLD_SIZE=2": the value of DOVE_GIVEN. REQUIRES: no value has a blank.
std::string given_text(const RankVariables& variables);

// Steps that run beside each other have ports of their own.
int master_port(JobId job, AttemptNumber attempt, std::int32_t step = 0);

}  // namespace dove
