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
#include <set>
#include <thread>

#include "cli/client/api.h"
#include "cli/client/signals.h"
#include "cli/client/step_input.h"
#include "cli/terminal/output.h"
#include "codec/json.h"
#include "telemetry/clock.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kLineBytesMax = 16 << 20;

json body_of(const StepWanted& wanted) {
  json body = {{"command", wanted.command}};
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
  const auto count = [&](const char* name, std::int64_t value) {
    if (value > 0) body[name] = value;
  };
  count("tasks", wanted.tasks);
  count("nodes", wanted.nodes);
  count("tasks_per_node", wanted.tasks_per_node);
  count("cores_per_task", wanted.cpus_per_task);
  if (!wanted.node_list.empty()) body["nodelist"] = wanted.node_list;
  if (wanted.kill_on_bad_exit) body["kill_on_bad_exit"] = true;
  if (wanted.overcommit) body["overcommit"] = true;
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
    while (!ended_ && !begun_ && !streamed.ok() && may_pass(streamed.error())) {
      const std::int64_t waited_us = telemetry::monotonic_us() - begun_us;
      if (waited_us >= patience_s * 1'000'000LL) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(waited_us < 1'000'000 ? 20 : 300));
      streamed = stream("/steps", body_of(wanted_));
    }
    if (begun_ && !ended_) streamed = go_on();
    output_.finish();
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
    return json{{"attempt", told_.value("attempt", 0)},
                {"nodes", told_.value("nodes", json::array())},
                {"seen", std::move(seen)},
                {"stdout_path", wanted_.stdout_path},
                {"stderr_path", wanted_.stderr_path},
                {"input", input_ != nullptr},
                {"stdin_rank", wanted_.stdin_rank},
                {"kill_on_bad_exit", wanted_.kill_on_bad_exit}};
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
    if (said.contains("begun")) {
      step_ = number_of(said["begun"], "step");
      told_ = said["begun"];
      begun_ = true;
      if (told_.value("input", false)) {
        input_ = std::make_unique<StepInput>(endpoint_, job_, step_.load());
      }
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
      output_.add(rank, error_stream, data);
    } else if (said.contains("error")) {
      fmt::print(stderr, "{}: error: {}\n", name_, said["error"].dump());
    }
    return true;
  }

  void tell(const json& exit) {
    if (!told_exits_.insert(number_of(exit, "rank")).second) return;  // told again
    const std::int64_t code = number_of(exit, "exit_code");
    const std::int64_t signal = number_of(exit, "signal");
    const std::string cause = text_of(exit, "cause");
    if (code == 0 && signal == 0 && cause.empty()) return;
    const std::string how = signal != 0 ? fmt::format("ended by signal {}", signal)
                                        : fmt::format("exited with exit code {}", code);
    fmt::print(stderr, "{}: error: task {}: {}{}\n", name_, number_of(exit, "rank"), how,
               cause.empty() ? "" : " (" + cause + ")");
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
  bool attached_ = false;
  bool ended_ = false;
  int exit_code_ = 0;
};

}  // namespace

bool inside_job() { return !current_job().empty() && !environment_value("DOVE_JOB_TOKEN").empty(); }

std::string current_job() { return environment_value("DOVE_JOB_ID"); }

Result<Endpoint> job_endpoint() {
  Endpoint endpoint;
  endpoint.url = environment_value("DOVE_URL");
  endpoint.token = environment_value("DOVE_JOB_TOKEN");
  endpoint.origin = "DOVE_URL";
  if (endpoint.url.empty() || !inside_job()) {
    return Error{
        ErrorKind::kInvalid, "not_in_a_job",
        "this works inside a job only: DOVE_URL, DOVE_JOB_ID and DOVE_JOB_TOKEN are not set", ""};
  }
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
