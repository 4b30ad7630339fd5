#include "cli/client/step.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "cli/client/api.h"
#include "cli/client/signals.h"
#include "cli/client/step_input.h"
#include "cli/client/task_ends.h"
#include "cli/terminal/output.h"
#include "codec/json.h"
#include "telemetry/clock.h"
#include "wire/address.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kLineBytesMax = 16 << 20;

json body_of(const StepWanted& wanted) {
  json body = json::parse(wanted.sizes);
  body["command"] = wanted.command;
  if (!wanted.environment.empty()) body["environment"] = wanted.environment;
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) body[name] = value;
  };
  text("name", wanted.name);
  text("workdir", wanted.workdir);
  text("stdout_path", wanted.stdout_path);
  text("stderr_path", wanted.stderr_path);
  text("stdin", wanted.stdin_text);
  if (wanted.stdin_rank >= 0) body["stdin_rank"] = wanted.stdin_rank;
  if (wanted.time_limit_s > 0) body["time_limit_s"] = wanted.time_limit_s;
  if (wanted.kill_on_bad_exit) body["kill_on_bad_exit"] = true;
  if (wanted.wait_s > 0) body["wait_s"] = wanted.wait_s;
  return body;
}

std::string from_base64(const std::string& text) {
  std::string out;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    std::uint32_t digit = 0;
    if (c >= 'A' && c <= 'Z') {
      digit = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      digit = static_cast<std::uint32_t>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0') + 52;
    } else if (c == '+' || c == '/') {
      digit = c == '+' ? 62 : 63;
    } else {
      continue;
    }
    word = (word << 6) | digit;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>((word >> bits) & 0xff);
    }
  }
  return out;
}

// What the tasks print, to our own stdout and stderr; whole lines when they are labelled.
class Output {
 public:
  explicit Output(bool label) : label_(label) {}

  void add(std::int64_t rank, bool error_stream, const std::string& data) {
    std::FILE* to = error_stream ? stderr : stdout;
    if (!label_) {
      std::fwrite(data.data(), 1, data.size(), to);
    } else {
      std::string& held = held_[{rank, error_stream}];
      held += data;
      std::size_t at = 0;
      for (std::size_t end = held.find('\n'); end != std::string::npos; end = held.find('\n', at)) {
        fmt::print(to, "{}: {}\n", rank, held.substr(at, end - at));
        at = end + 1;
      }
      held.erase(0, at);
    }
    std::fflush(to);
  }

  void finish() {
    for (const auto& [from, held] : held_) {
      if (!held.empty()) fmt::print(from.second ? stderr : stdout, "{}: {}\n", from.first, held);
    }
    std::fflush(stdout);
  }

 private:
  bool label_;
  std::map<std::pair<std::int64_t, bool>, std::string> held_;
};

class Step {
 public:
  Step(std::string name, const StepWanted& wanted, StepPlace place)
      : name_(std::move(name)),
        job_(std::move(place.job)),
        wanted_(wanted),
        endpoint_(std::move(place.endpoint)),
        output_(wanted.label) {}

  Result<int> run(int patience_s) {
    const std::int64_t begun_us = telemetry::monotonic_us();
    SignalWatch watch([this](int number) { forward(job_, number); });
    Result<void> streamed = stream("/steps", body_of(wanted_));
    std::int64_t patience_us = patience_s * 1'000'000LL;
    std::int64_t since_us = begun_us;
    while (!ended_ && !begun_ && !refused_ && heard_ == 0) {
      // The server was restarted while the step waited: it waits there again.
      if (waits_) {
        since_us = telemetry::monotonic_us();
        patience_us = std::max(patience_us, kReconnect_us);
      }
      const bool may = waits_ || (!streamed.ok() && may_pass(streamed.error()));
      waits_ = false;
      const std::int64_t waited_us = telemetry::monotonic_us() - since_us;
      if (!may || waited_us >= patience_us) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(waited_us < 1'000'000 ? 20 : 300));
      streamed = stream("/steps", body_of(wanted_));
    }
    if (refused_) return *refused_;
    if (begun_ && !ended_) streamed = go_on();
    output_.finish();
    tell_failures();
    input_.reset();
    if (ended_) return std::min(exit_code_, 255);
    if (heard_ != 0) return 128 + heard_;
    if (!streamed.ok()) return streamed.error();
    return Error{ErrorKind::kUnavailable, "step_lost",
                 "the connection to the server broke; the step was ended", ""};
  }

 private:
  static constexpr std::int64_t kReconnect_us = 60'000'000;

  Result<void> stream(const std::string& target, const json& body) {
    Api api(endpoint_);
    return api.stream("POST", job_target(job_, target), codec::dump_json(body),
                      {{"Accept", "application/x-ndjson"}},
                      [this](std::string_view line) { return take(line); });
  }

  // The stream broke: the server was restarted, and its successor is told what is known here.
  Result<void> go_on() {
    std::int64_t heard_us = telemetry::monotonic_us();
    while (true) {
      attached_ = false;
      const Result<void> streamed = stream(fmt::format("/steps/{}/attach", step_.load()), rest());
      const std::int64_t now_us = telemetry::monotonic_us();
      if (ended_ || heard_ != 0) return {};
      if (attached_) heard_us = now_us;
      const bool may_pass = streamed.ok() || streamed.error().kind == ErrorKind::kUnavailable;
      if (!may_pass || now_us - heard_us > kReconnect_us) return streamed;
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  }

  json rest() const {
    json seen = json::array();
    for (const auto& [from, bytes] : seen_) {
      seen.push_back(json{
          {"rank", from.first}, {"stream", from.second ? "stderr" : "stdout"}, {"bytes", bytes}});
    }
    json rest{{"attempt", told_.value("attempt", 0)},
              {"nodes", told_.value("nodes", json::array())},
              {"seen", std::move(seen)},
              {"stdout_path", wanted_.stdout_path},
              {"stderr_path", wanted_.stderr_path},
              {"input", input_ != nullptr},
              {"time_left_s", left_s(wanted_.time_limit_s, begun_us_)},
              {"stdin_rank", wanted_.stdin_rank},
              {"kill_on_bad_exit", wanted_.kill_on_bad_exit}};
    if (wanted_.wait_s > 0) rest["wait_s"] = left_s(wanted_.wait_s, first_exit_us_);
    return rest;
  }

  // A script may be faster than the news that its job is running.
  bool may_pass(const Error& error) const {
    if (heard_ != 0) return false;
    return error.kind == ErrorKind::kUnavailable || error.code == "not_running";
  }

  void forward(const std::string& job, int number) {
    if (heard_.exchange(number) != 0 || !begun_) _exit(128 + number);
    Api own(endpoint_);
    const Result<json> sent = own.send("POST", job_target(job, "/signal"),
                                       json{{"signal", number}, {"step", step_.load()}});
    // Leaving ends the step too: the server sends its tasks SIGTERM, then SIGKILL.
    if (!sent.ok()) _exit(128 + number);
  }

  bool take(std::string_view line) {
    const Result<json> parsed = codec::parse_json(line, kLineBytesMax);
    if (!parsed.ok() || !parsed->is_object()) return true;
    const json& said = *parsed;
    if (!said.contains("exit")) tell_failures();
    if (said.contains("begun")) {
      step_ = number_of(said["begun"], "step");
      told_ = said["begun"];
      refused_ = objection();
      if (refused_) return false;
      begun_ = true;
      begun_us_ = telemetry::monotonic_us();
      tell_unlimited();
      if (told_waiting_ && !wanted_.quiet)
        fmt::print(stderr, "{}: Step created for job {}\n", name_, job_);
      if (told_.value("input", false)) {
        input_ = std::make_unique<StepInput>(endpoint_, job_, step_.load());
      }
    } else if (said.contains("waiting")) {
      waits_ = true;
      tell_waiting();
    } else if (said.contains("refused")) {
      refused_ =
          Error{ErrorKind::kConflict, "step_refused", text_of(said["refused"], "message"), ""};
      return false;
    } else if (said.contains("timed_out")) {
      fmt::print(stderr, "{}: error: *** STEP {}.{} ON {} CANCELLED DUE TO TIME LIMIT ***\n", name_,
                 job_, step_.load(), node_of(0));
    } else if (said.contains("waited")) {
      tell_waited();
    } else if (said.contains("attached")) {
      attached_ = true;
    } else if (said.contains("ended")) {
      exit_code_ = static_cast<int>(number_of(said["ended"], "exit_code"));
      ended_ = true;
      return false;
    } else if (said.contains("exit")) {
      tell(said["exit"]);
    } else if (said.contains("data") || said.contains("base64")) {
      const std::string data =
          said.contains("data") ? text_of(said, "data") : from_base64(text_of(said, "base64"));
      const std::int64_t rank = number_of(said, "rank");
      const bool error_stream = text_of(said, "stream") == "stderr";
      seen_[{rank, error_stream}] += static_cast<std::int64_t>(data.size());
      const std::int64_t only = error_stream ? wanted_.stderr_rank : wanted_.stdout_rank;
      if (only < 0 || only == rank) output_.add(rank, error_stream, data);
    }
    return true;
  }

  // Where nobody said before how many tasks there are.
  std::optional<Error> objection() const {
    std::int64_t tasks = 0;
    for (const json& node : list_of(told_, "nodes")) {
      tasks += static_cast<std::int64_t>(list_of(node, "ranks").size());
    }
    for (const auto& [option, rank] :
         {std::pair("output", wanted_.stdout_rank), std::pair("error", wanted_.stderr_rank)}) {
      if (rank >= tasks) return no_such_task(option, std::to_string(rank), tasks);
    }
    return std::nullopt;
  }

  void tell_unlimited() {
    std::vector<std::string> nodes;
    for (const json& node : list_of(told_, "memory_not_limited")) {
      if (node.is_string()) nodes.push_back(node.get<std::string>());
    }
    if (nodes.empty() || wanted_.quiet) return;
    fmt::print(stderr,
               "{}: warning: memory is reserved but not limited on {}: nothing there keeps a task "
               "from taking more than the step asked for\n",
               name_, fmt::join(nodes, ", "));
  }

  // As Slurm's srun says it.
  void tell_waiting() {
    if (std::exchange(told_waiting_, true) || wanted_.quiet) return;
    fmt::print(stderr,
               "{}: Job {} step creation temporarily disabled, retrying (Requested nodes are "
               "busy)\n",
               name_, job_);
  }

  // Likewise.
  void tell_waited() {
    if (std::exchange(told_waited_, true) || wanted_.quiet) return;
    fmt::print(stderr, "{}: First task exited {}s ago\n", name_, wanted_.wait_s);
  }

  void tell(const json& exit) {
    const std::int64_t rank = number_of(exit, "rank");
    if (!told_exits_.insert(rank).second) return;  // told again
    if (first_exit_us_ == 0) first_exit_us_ = telemetry::monotonic_us();
    const std::int64_t code = number_of(exit, "exit_code");
    const std::int64_t signal = number_of(exit, "signal");
    const std::string cause = text_of(exit, "cause");
    if (code == 0 && signal == 0 && cause.empty()) return;
    failures_[{node_of(rank), ended_text(code, signal, cause)}].push_back(rank);
  }

  // Tasks of a node that ended alike are told together.
  void tell_failures() {
    for (const auto& [what, ranks] : failures_) {
      fmt::print(stderr, "{}: error: {}\n", name_, failure_text(what.first, ranks, what.second));
    }
    failures_.clear();
  }

  std::string node_of(std::int64_t rank) const {
    for (const json& node : told_.value("nodes", json::array())) {
      for (const json& one : node.value("ranks", json::array())) {
        if (one == rank) return text_of(node, "node");
      }
    }
    return "?";
  }

  // What is left of a limit that counts from then on; since 0: it does not count yet.
  static std::int64_t left_s(std::int64_t limit_s, std::int64_t since_us) {
    if (limit_s == 0 || since_us == 0) return limit_s;
    const std::int64_t ran_s = (telemetry::monotonic_us() - since_us) / 1'000'000;
    return std::max<std::int64_t>(1, limit_s - ran_s);
  }

  std::string name_;
  const std::string job_;
  const StepWanted& wanted_;
  Endpoint endpoint_;
  Output output_;
  std::atomic<int> heard_{0};
  std::atomic<std::int64_t> step_{0};
  std::atomic<bool> begun_{false};
  std::unique_ptr<StepInput> input_;  // runs with the step
  json told_;                         // as it began: its attempt, nodes and ranks
  std::map<std::pair<std::int64_t, bool>, std::int64_t> seen_;  // bytes by (rank, is stderr)
  std::set<std::int64_t> told_exits_;
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> failures_;  // untold
  std::optional<Error> refused_;
  bool waits_ = false;
  bool told_waiting_ = false;
  std::int64_t begun_us_ = 0;
  std::int64_t first_exit_us_ = 0;  // 0: none yet
  bool told_waited_ = false;
  bool attached_ = false;
  bool ended_ = false;
  int exit_code_ = 0;
};

}  // namespace

Error no_such_task(const std::string& option, const std::string& given, std::int64_t tasks) {
  return usage_error(
      fmt::format("--{}={}: the step has {} tasks, from 0 on", option, given, tasks));
}

bool inside_job() { return !current_job().empty() && !environment_value("DOVE_JOB_TOKEN").empty(); }

std::string current_job() { return environment_value("DOVE_JOB_ID"); }

Result<Endpoint> job_endpoint() {
  Endpoint endpoint;
  endpoint.url = environment_value("DOVE_URL");
  endpoint.token = environment_value("DOVE_JOB_TOKEN");
  endpoint.ca_file = environment_value("DOVE_CA_FILE");
  endpoint.origin = "DOVE_URL";
  if (endpoint.url.empty() || !inside_job()) {
    return Error{
        ErrorKind::kInvalid, "not_in_a_job",
        "this works only inside a job: DOVE_URL, DOVE_JOB_ID and DOVE_JOB_TOKEN are not set", ""};
  }
  endpoint.insecure = is_told_insecure({});
  TRY(wire::may_show_secrets(endpoint.url, endpoint.insecure));
  return endpoint;
}

Result<StepPlace> own_place() {
  TRY_ASSIGN(Endpoint endpoint, job_endpoint());
  return StepPlace{current_job(), std::move(endpoint)};
}

Result<int> run_step(const std::string& name, const StepWanted& wanted, StepPlace place,
                     int patience_s) {
  return Step(name, wanted, std::move(place)).run(patience_s);
}

}  // namespace dove::cli
