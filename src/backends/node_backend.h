// NodeBackend: a backend with nodes of its own, and how the API reaches the work that runs there.
//
// The API knows no backend by name: it gets the NodeAccess of the backend that the program chose.
// The backend answers each call (listener/call.h) once, now or later. Everything but carry_out()
// runs on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/node_offer.h"
#include "backends/step.h"

namespace dove::core {
struct Job;
struct Node;
}  // namespace dove::core
namespace dove::listener {
struct Call;
struct Route;
class Desk;
}  // namespace dove::listener
namespace dove::telemetry {
class Exposition;
}

namespace dove::backends {

using CallPtr = std::shared_ptr<listener::Call>;

struct LogRequest {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  Rank rank = 0;
  bool is_stderr = false;
  bool follow = false;
  bool apart = false;  // of a standard error that goes to the same file as the output: nothing
  std::int64_t offset = 0;
  std::int64_t tail_lines = -1;  // -1: everything
};

// A connection to a task: to a TCP port, or to a Unix socket in the task's directory.
struct ForwardRequest {
  std::string task;  // "": rank 0; "3"; "worker/1"
  std::int32_t port = 0;
  std::string socket;       // with port 0
  bool looks_only = false;  // whether it could be made; it is not
};

// Which processes of a job a signal is for; of a job without a batch script all are its tasks.
enum class SignalTo : std::uint8_t {
  kAll,
  kScript,  // the batch script and what it runs by itself
  kSteps,   // the tasks of steps
};

class RunningWork {
 public:
  virtual ~RunningWork() = default;
  // Whether the node's agent can be asked for anything now.
  virtual bool reaches(NodeId node) const = 0;
  // Answers with a task's output. REQUIRES: reaches(request.node).
  virtual void read_log(CallPtr call, const LogRequest& request) = 0;
  // Answers with a WebSocket into a running task: to the connection that is wanted, else to a
  // command, which the client names. REQUIRES: the caller may.
  virtual void open_link(const CallPtr& call, JobId job,
                         const std::optional<ForwardRequest>& wanted) = 0;
  // Passes a signal to the job's processes; how many nodes it reached.
  virtual int signal(const core::Job& job, int number, SignalTo to) = 0;
  // The job asks for its own end: its tasks are not signalled before they have the answer.
  virtual void expect_own_end(JobId job) = 0;
};

class StepHost {
 public:
  virtual ~StepHost() = default;
  // Answers with the step's stream, or an error.
  virtual void run(CallPtr call, const core::Job& job, const StepRequest& request,
                   StepProgram program) = 0;
  // Answers with the rest of the stream of a step that a former server began.
  virtual void attach(CallPtr call, const core::Job& job, const StepAttach& attach) = 0;
  // A piece of the step's standard input, from its client.
  virtual void write_input(CallPtr call, JobId job, AttemptNumber attempt, std::int32_t step) = 0;
  // Passes a signal to a step's tasks; false when there is no such step.
  virtual bool send_signal(JobId job, AttemptNumber attempt, std::int32_t step, int number) = 0;
};

// What is known of running work and its nodes beside the ledger: in memory only, told anew after a
// restart.
class Observations {
 public:
  virtual ~Observations() = default;
  // Adds members to the job's object: with `whole` all there are, else what a list of jobs shows.
  virtual void show_job(JobId job, bool whole, nlohmann::json& object) const = 0;
  // What is known to keep the running job from getting on; "": nothing.
  virtual std::string trouble(JobId job) const = 0;
  // Adds members to the node's object.
  virtual void show_node(NodeId node, nlohmann::json& object) const = 0;
  // What tasks may have there; nullptr: its agent is not here, or did not say.
  virtual const NodeOffer* offer(NodeId node) const = 0;
  // Adds series for the jobs of users whom `shows` lets through.
  using ShowsUser = std::function<bool(const std::string& user)>;
  virtual void add_to(telemetry::Exposition& out, const ShowsUser& shows) const = 0;
};

// Hundredths of a percent of what a job holds; unset: not measured.
struct SeenUse {
  std::optional<std::int32_t> mean;    // over the whole window that was asked for
  std::optional<std::int32_t> lately;  // as it was told a moment ago
};

// What nodes and people's connections say of how a running job is used.
struct JobUse {
  SeenUse gpu;
  SeenUse gpu_memory;
  SeenUse cpu;
  bool is_told = false;          // all of its nodes have said something a moment ago
  bool is_app_told = false;      // so has its app
  bool in_use = false;           // a program works in a terminal, or the app does for its user
  Instant last_input = {};       // to the app, as it says, and to commands; 0: none
  Instant last_connection = {};  // anything that came in by `dove port-forward`; 0: nothing
};

// What a running attempt has used of what it holds, over equal steps of its time. Hundredths of a
// percent; unset: not measured.
struct UseCourse {
  using Part = std::optional<std::int32_t>;
  struct Line {
    std::vector<Part> mean;   // of its nodes, by step
    std::vector<Part> least;  // of the one that used least
  };
  struct OfNode {
    NodeId node;
    Part gpu;
    Part gpu_memory;
    Part cpu;
    std::map<std::int32_t, std::int32_t> devices = {};  // that were measured, by number
  };
  Instant begin;  // of the first step; 0: nothing is known
  Span step;
  Line gpu;  // of a node: of its busiest device
  Line gpu_memory;
  Line cpu;
  std::vector<OfNode> nodes;  // lately; who uses the least of its GPUs comes first
};

class UseMeter {
 public:
  virtual ~UseMeter() = default;
  virtual JobUse use_of(const core::Job& job, Span window) const = 0;
  virtual UseCourse course_of(const core::Job& job) const = 0;
  // How busy devices of the node were lately, in hundredths of a percent, by number: those that a
  // job holds, and that were measured.
  virtual std::map<std::int32_t, std::int32_t> devices_of(const core::Node& node) const = 0;
};

struct NodeAccess {
  RunningWork& work;
  StepHost& steps;
  Observations& observed;
  UseMeter& use;
};

class NodeBackend : public Backend {
 public:
  // From now on orders are carried out. REQUIRES: the controller of `desk` is not running; once;
  // close() comes before the end of `desk`.
  virtual NodeAccess open(listener::Desk& desk) = 0;
  // The calls of its agents, if it has any. REQUIRES: it is open.
  virtual void add_routes(std::vector<listener::Route>& routes) = 0;
  // Ends streams and sessions without a word to the ledger: the server stops.
  virtual void end_streams() = 0;
  // From now on orders are dropped. REQUIRES: no route of it is called any more.
  virtual void close() = 0;
};

}  // namespace dove::backends
