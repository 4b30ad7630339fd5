// Candidates: the nodes that a search for places chooses from, and which of them a job may use.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/place/domain.h"
#include "core/place/fit.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

NodeFree free_of(const FreeView& free);

// What one job may take, where that is not what the nodes say: promises and reservations keep some
// of it (core/plan/plan.h). Asked by the search, node by node.
class FreeNodes {
 public:
  virtual ~FreeNodes() = default;
  // What the job may take there, of what its executor is lent; null when that is all that the node
  // has free.
  virtual const FreeBooks* books(NodeId node) = 0;
  virtual bool is_open(NodeId node) = 0;
  // Whether the node is a spare one: asked only where those are taken last.
  virtual bool is_spare(NodeId node) = 0;
};

// The nodes to choose from, ascending by the policy's rank of what they have free.
struct Candidates {
  const RankedNodes* ranked = nullptr;
  const ById<NodeId, Node>* nodes = nullptr;
  // The domains of these nodes; null: they are made when the job names a level.
  const Domains* domains = nullptr;
  // Restricts the search to these of the ranked nodes and domains. Null: no restriction.
  const ById<NodeId, bool>* only = nullptr;
  // The jobs that the nodes name, for their labels. Null: there is nobody on the nodes.
  const IdMap<JobId, Job>* jobs = nullptr;
  // What is free, instead of what the nodes say.
  const ById<NodeId, FreeView>* views = nullptr;
  // Whether there are places is all that is asked: those found are not listed.
  bool only_whether = false;
  // Where something is promised or reserved; null: nothing is.
  FreeNodes* free = nullptr;
  bool spares_last = false;  // some of these nodes may be spare
  // What executors are lent, for jobs that they are to run. Null: all that there is.
  const std::map<std::string, Executor>* executors = nullptr;
};

// Whether the wanted nodes are fewer than the job takes: they must be among its nodes, and it may
// take others, too. Else it takes wanted ones only.
bool wants_some(const JobSpec& spec);

// Whether spec's executor, features, wanted and excluded nodes allow the node.
bool allows(const JobSpec& spec, const Node& node);
// The same, except that an executor that does not answer now may do so again in time.
bool may_allow(const JobSpec& spec, const Node& node);
// The part of it that the job's features and choice of nodes decide.
bool has_wished(const JobSpec& spec, const Node& node);

// Whether the labels of the jobs on the node allow it: it holds one that the job wants near, none
// that it wants apart, and none that wants to be apart from it.
bool labels_allow(const JobSpec& spec, const Node& node, const IdMap<JobId, Job>& jobs);

// Whether the node has room for at least one task of the job: if not, freeing something on it
// cannot have helped the job.
bool could_help(const Node& node, const PlacementPolicy& policy, const JobSpec& spec);

// Whether "no room" stays true until something is freed.
bool search_is_monotone(const JobSpec& spec);

}  // namespace dove::core
