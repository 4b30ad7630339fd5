// Steps: programs that run inside a job's allocation (srun, Open MPI's launch agent).
//
// A step lives as long as its client listens: POST /v1/jobs/{id}/steps answers with a stream of
// JSON lines, output and exits as they come from the agents. When the client goes, the step's tasks
// are ended. Nothing of a step is in the log: after a restart of the server the client hands back
// what it was told at the beginning and how much it has heard (attach), and the agents, who hold
// the truth, go on from there. A step that no client takes up is ended. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/agent_sessions.h"
#include "server/call.h"
#include "server/projection.h"
#include "server/relays.h"
#include "server/step_layout.h"
#include "server/sync_plan.h"

namespace dove::server {

class StepInput;

struct StepProgram {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string workdir;
  std::string stdout_path;
  std::string stderr_path;
  std::string stdin_text;        // "none", "stream" (from the client), or a path
  std::int32_t stdin_rank = -1;  // it goes to this task alone; -1: to all
  bool label = false;
  bool kill_on_bad_exit = false;
};

// What a step's client knows of it, handed back to a server that does not.
struct StepAttach {
  AttemptNumber attempt = 0;
  std::int32_t step = 0;
  std::map<std::string, std::vector<Rank>> ranks;  // by the node's name
  std::string agent_part;                          // JSON of what its agents must know
  bool input = false;
  std::int32_t stdin_rank = -1;
  bool kill_on_bad_exit = false;
};

class Steps {
 public:
  Steps(wire::Loop& loop, const Projection& projection, AgentSessions& sessions, Relays& relays);
  ~Steps();

  // Answers `call` with the step's stream, or an error.
  void run(CallPtr call, const core::Job& job, const StepRequest& request, StepProgram program);
  // Answers `call` with the rest of the stream of a step that a former server began.
  void attach(CallPtr call, const core::Job& job, const StepAttach& attach);
  // A node's agent runs these: what no client takes up within kOrphaned is ended.
  void found(NodeId node, const std::vector<StepKey>& steps);
  // An agent's report that a step's tasks on its node have ended.
  void ended(NodeId node, JobId job, AttemptNumber attempt, std::int32_t step,
             const std::vector<TaskExit>& exits);
  // A piece of the step's standard input, from its client; and what its agents ask for.
  void write_input(CallPtr call, JobId job, AttemptNumber attempt, std::int32_t step);
  void read_input(CallPtr call, const std::string& relay);
  // Passes a signal to a step's tasks; false when there is no such step.
  bool send_signal(JobId job, AttemptNumber attempt, std::int32_t step, int number);
  // The node's agent is back: what was lost on it meanwhile is ended there.
  void node_back(NodeId node);
  void close_all();
  std::size_t size() const { return steps_.size(); }

 private:
  using Key = std::tuple<JobId, AttemptNumber, std::int32_t>;
  using Ranks = std::map<NodeId, std::vector<Rank>>;
  static constexpr std::chrono::seconds kOrphaned{60};
  struct Step;
  struct Orphan {
    std::set<NodeId> nodes;
    wire::Timer timer;
  };

  std::shared_ptr<Step> open_step(const Key& key, Ranks ranks, bool kill_on_bad_exit);
  void open_stream(const std::shared_ptr<Step>& step, const Call& call);
  void end_orphan(const Key& key, int number);

  static std::string signal_line(const Key& key, int number);
  std::unique_ptr<StepInput> input_of(const Ranks& ranks, std::int32_t stdin_rank) const;
  std::int32_t next_number(const core::Job& job);
  void send_orders(const Step& step, const core::State& state, const std::vector<StepNode>& nodes,
                   const StepProgram& program);
  void node_done(const std::shared_ptr<Step>& step, NodeId node,
                 const std::vector<TaskExit>& exits);
  void signal(const Step& step, int number);
  void client_gone(const std::weak_ptr<Step>& weak);
  void finish(const std::shared_ptr<Step>& step);

  wire::Loop& loop_;
  const Projection& projection_;
  AgentSessions& sessions_;
  Relays& relays_;
  Instant began_at_;
  std::map<Key, std::shared_ptr<Step>> steps_;
  std::map<std::pair<JobId, AttemptNumber>, std::int32_t> numbers_;
  std::map<Key, Orphan> orphans_;
  std::multimap<NodeId, Key> abandoned_;  // their clients were told that they are over
};

}  // namespace dove::server
