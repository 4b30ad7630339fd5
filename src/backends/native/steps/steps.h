// Steps: programs that run inside a job's allocation (srun, Open MPI's launch agent).
//
// A step that asks for cores, devices or memory by itself waits until no other step holds them
// (step_ledger.h). It lives as long as its client listens: POST /v1/jobs/{id}/steps answers with a
// stream of JSON lines, output and exits as they come from the agents. When the client disconnects,
// the step's tasks are ended. Nothing of a step is in the log (StepBook keeps past ones). After a
// restart of the server the client hands back what it was told at the beginning and how much it has
// received (attach), and the agents, which have the actual state, continue from there. A step that
// no client takes up is ended. Loop thread only.
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

#include "backends/native/agent_sessions.h"
#include "backends/native/relays.h"
#include "backends/native/steps/step_book.h"
#include "backends/native/steps/step_file.h"
#include "backends/native/steps/step_layout.h"
#include "backends/native/steps/step_ledger.h"
#include "backends/native/steps/step_waiting.h"
#include "backends/native/sync_plan.h"
#include "backends/node_backend.h"
#include "listener/call.h"
#include "listener/projection.h"
#include "protocol/session.h"

namespace dove::backends {

class StepInput;

class Steps : public StepHost {
 public:
  // `path`: of the file that keeps what is known of steps over restarts.
  Steps(wire::Loop& loop, const listener::Projection& projection, AgentSessions& sessions,
        Relays& relays, const std::string& path);
  ~Steps() override;

  void run(CallPtr call, const core::Job& job, const StepRequest& request,
           StepProgram program) override;
  void attach(CallPtr call, const core::Job& job, const StepAttach& attach) override;
  void write_input(CallPtr call, JobId job, AttemptNumber attempt, std::int32_t step) override;
  bool send_signal(JobId job, AttemptNumber attempt, std::int32_t step, int number) override;
  // A node's agent runs these: what no client takes up within kOrphaned is ended.
  void found(NodeId node, const std::vector<protocol::StepKey>& steps);
  // An agent's report that a step's tasks on its node have ended.
  void ended(NodeId node, JobId job, AttemptNumber attempt, std::int32_t step,
             const std::vector<TaskExit>& exits);
  // That one of them has, while others run there: of some steps only.
  void task_ended(NodeId node, const StepId& step, const TaskExit& exit);
  // What the step's agents ask for of its standard input.
  void read_input(CallPtr call, const std::string& relay);
  // The node's agent is back: what was lost on it meanwhile is ended there.
  void node_back(NodeId node);
  void close_all();
  std::size_t size() const { return steps_.size(); }
  const StepBook& book() const { return book_; }

 private:
  using Key = StepId;
  using Ranks = std::map<NodeId, std::vector<Rank>>;
  static constexpr std::chrono::seconds kOrphaned{60};
  static constexpr std::chrono::seconds kLookAgain{5};
  struct Step;
  struct Orphan {
    std::set<NodeId> nodes;
    wire::Timer timer;
  };

  std::shared_ptr<Step> open_step(const Key& key, Ranks ranks, bool kill_on_bad_exit);
  Result<std::vector<StepNode>> lay_out(const core::Job& job, const StepRequest& request) const;
  void wait(const listener::Call& call, const core::Job& job, const StepRequest& request,
            StepProgram program);
  void begin(const core::Job& job, const std::vector<StepNode>& nodes, const StepProgram& program,
             const std::shared_ptr<wire::Outflow>& out);
  StepWaiting::Outcome begin_waiting(const std::shared_ptr<WaitingStep>& waiting);
  // Something of the attempt is free again.
  void freed(JobId job, AttemptNumber attempt);
  void look_again();
  bool has_orphans(JobId job, AttemptNumber attempt) const;
  void use_stream(const std::shared_ptr<Step>& step, const std::shared_ptr<wire::Outflow>& out);
  void set_limit(const std::shared_ptr<Step>& step, std::int64_t time_limit_s);
  void end_orphan(const Key& key, int number);

  std::vector<std::string> unlimited_nodes(const std::vector<StepNode>& nodes) const;
  void write_down(const Key& key, const StepProgram& program, const std::vector<StepNode>& nodes);
  static std::string signal_line(const Key& key, int number);
  std::unique_ptr<StepInput> input_of(const Ranks& ranks, std::int32_t stdin_rank) const;
  std::int32_t next_number(const core::Job& job);
  void send_orders(const Step& step, const core::State& state, const std::vector<StepNode>& nodes,
                   const StepProgram& program);
  void node_done(const std::shared_ptr<Step>& step, NodeId node,
                 const std::vector<TaskExit>& exits);
  void take_exit(Step& step, const TaskExit& exit);
  // With SIGTERM at once after a failure, or with SIGKILL some time after the first end, where that
  // was asked for; as Slurm does it.
  void end_others(const std::shared_ptr<Step>& step);
  // With SIGKILL later, again and again: a signal may be lost with its node's connection.
  void kill(const std::shared_ptr<Step>& step, int number);
  void signal(const Step& step, int number);
  void send_back(const std::shared_ptr<Step>& step);
  void client_gone(const std::weak_ptr<Step>& weak);
  void finish(const std::shared_ptr<Step>& step);

  wire::Loop& loop_;
  const listener::Projection& projection_;
  AgentSessions& sessions_;
  Relays& relays_;
  Instant began_at_;
  std::map<Key, std::shared_ptr<Step>> steps_;
  StepBook book_;
  StepFile file_;
  std::map<std::pair<JobId, AttemptNumber>, std::int32_t> numbers_;
  std::map<Key, Orphan> orphans_;
  std::multimap<NodeId, Key> abandoned_;  // their clients were told that they are over
  StepLedger ledger_;
  StepWaiting waiting_;
  wire::Timer look_timer_;
};

}  // namespace dove::backends
