// ExecSpec: what running a job needs and deciding does not. Stored as a JSON blob by digest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dove {

// Where a task's output goes. Paths may hold %j %A %a %x %u %N %n %t (rank) %s (step) and are
// relative to workdir; they may not leave it by "..". Empty: kept by the agent, read with `dove
// logs`.
struct OutputSpec {
  std::string stdout_path;
  std::string stderr_path;  // empty: same as stdout
  bool append = false;
  std::string stdin_path;         // empty: /dev/null
  std::int64_t rotate_bytes = 0;  // 0: the agent's default for its own files, none for others
};

// A directory or file of the node that a container sees. The node says which may be asked for.
struct Volume {
  std::string source;  // absolute
  std::string target;  // absolute, inside; empty: as source
  bool writable = false;
};

// A port of the node that leads to one inside.
struct PublishedPort {
  std::int32_t port = 0;       // inside
  std::int32_t node_port = 0;  // of the node; at least 1024
};

enum class ContainerNetwork {
  kDefault,  // kGang where all nodes of the attempt offer it, else kHost
  kHost,     // the node's own
  kGang,     // the gang's own: its tasks reach each other by name, and nobody else reaches them
};

// What must be so of a container with a name when a task is started in it.
enum class ContainerNaming {
  kAny,     // it is made where it is not there
  kCreate,  // it is new
  kExec,    // it is there
};

// What the job's tasks run in; without an image they are plain processes of the node, but for steps
// in a container that an earlier step of their job has named.
struct ContainerSpec {
  std::string image;  // empty: none
  std::vector<Volume> volumes;
  bool read_only = false;      // the image's files cannot be changed, not even for a while
  std::int64_t shm_bytes = 0;  // of /dev/shm; 0: half of the job's memory, or 1 GiB
  std::string workdir;         // inside; empty: the image's own
  ContainerNetwork network = ContainerNetwork::kDefault;
  std::vector<PublishedPort> ports;  // of the first task on each node; with kGang only
  // What is written in it stays on its node for all that name it, as long as the job's attempt;
  // empty: until its task ends.
  std::string name;
  ContainerNaming naming = ContainerNaming::kAny;
  // Absolute path of the node: a squash file is made of it there when its task has ended, of the
  // first task's. Empty: none.
  std::string save;
  bool entrypoint = false;  // the image's entry point starts the program
  bool root = false;        // the task's user is root inside
};

// What people use a session for: a program of the job that serves web pages. Who connects (`dove
// open`) reads it; a job in an image also gets a home by it, which its attempts share.
struct AppSpec {
  std::string name;       // "notebook"; empty: the job is no session
  std::int32_t port = 0;  // of rank 0, on loopback; 0: `socket`
  std::string socket;     // of rank 0, in its directory DOVE_SOCKETS
  std::string health;     // path that is answered once it serves; empty: "/"
  std::string path;       // where a browser begins; empty: "/"
  // Who knows whether it is used: "jupyter", "code_server", or a path that answers with
  // {"last_activity": instant}; empty: what comes in through connections says it.
  std::string activity;
};

struct ExecSpec {
  std::string script;  // LaunchMode::kBatch: the whole script with its #! line
  std::vector<std::string> script_arguments;
  std::vector<std::string> command;                // LaunchMode::kEachTask: argv of each task
  std::map<std::string, std::string> environment;  // added to what Dovetail sets
  std::string workdir;                             // empty: a fresh directory of the attempt
  OutputSpec output;
  ContainerSpec container;
  AppSpec app;
  std::string umask = "0022";
  std::int32_t stop_signal = 15;
  std::int32_t warn_signal = 0;  // sent warn_before_s before the time limit (sbatch --signal)
  std::int32_t warn_before_s = 0;
  std::string source_name;                    // file it came from, for people
  std::map<std::string, std::string> labels;  // comment, wckey, account ...: shown, no effect
};

}  // namespace dove
