// dove cancel, checkpoint, hold, keep, release, requeue, priority: what a person does to jobs.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/signals.h"
#include "cli/client/step.h"
#include "cli/commands/job_list.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

using nlohmann::json;

// Does it to all of them; what failed is told, and the first failure decides the exit code.
Result<int> for_each_job(const Invocation& invocation, const std::string& action, const json& body,
                         const char* done) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  int code = kExitOk;
  for (const std::string& id : invocation.operands) {
    const Result<json> answer = api.send("POST", job_target(id, "/" + action), body);
    if (answer.ok()) {
      if (!invocation.has("quiet")) print(fmt::format("job {} {}\n", id, done));
      continue;
    }
    const std::string& message = answer.error().message;
    const bool named = message.find("job " + id) != std::string::npos;
    say(named ? message : fmt::format("job {}: {}", id, message));
    if (code == kExitOk) code = exit_code(answer.error());
    if (answer.error().kind == ErrorKind::kUnavailable) break;
  }
  return code;
}

Result<int> run_cancel(const Invocation& invocation) {
  if (!invocation.has("signal")) {
    return for_each_job(invocation, "cancel", json::object(), "cancelled");
  }
  TRY_ASSIGN(const int number, signal_number(invocation.get("signal")));
  return for_each_job(invocation, "signal", json{{"signal", number}}, "signalled");
}

Result<int> run_priority(const Invocation& invocation) {
  // As `dove priority JOB N`, too.
  const bool is_last = !invocation.has("value") && invocation.operands.size() == 2;
  const std::string given = is_last ? invocation.operands[1] : invocation.get("value");
  int value = 0;
  const auto [at, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error != std::errc() || at != given.data() + given.size()) {
    return usage_error(
        given.empty()
            ? "the new priority is missing: dove priority JOB N, or dove priority --value=N JOB..."
            : fmt::format("{}{} is not a whole number: dove priority JOB N, or dove priority "
                          "--value=N JOB...",
                          is_last ? "" : "--value=", printable(given)));
  }
  Invocation jobs = invocation;
  if (is_last) jobs.operands.pop_back();
  return for_each_job(jobs, "priority", json{{"priority", value}}, "has its new priority");
}

Result<int> run_checkpoint(const Invocation& given) {
  Invocation invocation = given;
  if (invocation.operands.empty()) invocation.operands.push_back(current_job());
  if (invocation.operands.front().empty()) {
    return usage_error(
        "name the JOB: it may be left out only inside a job, where DOVE_JOB_ID is set");
  }
  return for_each_job(invocation, "checkpoint", json::object(), "has saved its work");
}

Result<int> run_requeue(const Invocation& invocation) {
  if (!invocation.has("hold")) {
    return for_each_job(invocation, "requeue", json::object(), "requeued");
  }
  return for_each_job(invocation, "requeue", json{{"hold", true}}, "is held");
}

Result<int> run_keep(const Invocation& invocation) {
  json body = json::object();
  if (invocation.has("for")) {
    const auto span_us = parse_span_us(invocation.get("for"));
    if (!span_us || *span_us <= 0) {
      return usage_error("--for is a length of time: 30m, 4h, 1d");
    }
    body["for_us"] = *span_us;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  for (const std::string& id : invocation.operands) {
    TRY_ASSIGN(const json kept, api.send("POST", job_target(id, "/keep"), body));
    if (invocation.has("quiet")) continue;
    print(
        fmt::format("job {} is kept until {}\n", id, zoned_text(number_of(kept, "kept_until_us"))));
  }
  return kExitOk;
}

CommandSpec spec_of(const std::string& name, const std::string& summary,
                    const std::string& description) {
  CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.description = description;
  spec.group = "Jobs";
  spec.operands = "JOB...";
  spec.completes = "job";
  spec.operands_min = 1;
  spec.operands_max = -1;
  spec.options = {{"quiet", 'q', "", "print nothing on success"}};
  return spec;
}

Command simple(const std::string& name, const std::string& summary, const std::string& description,
               const char* done) {
  return {spec_of(name, summary, description), guarded(name, [name, done](const Invocation& given) {
            return for_each_job(given, name, json::object(), done);
          })};
}

}  // namespace

std::vector<Command> job_action_commands() {
  CommandSpec cancel =
      spec_of("cancel", "End jobs, or send them a signal",
              "A running job gets SIGTERM, and SIGKILL after its grace. JOB is an id, an\n"
              "array's id (all of it) or 12_3 (one element).");
  cancel.options.push_back({"signal", 's', "SIGNAL", "send this signal and do not end the job"});
  CommandSpec priority = spec_of("priority", "Change the priority of waiting jobs",
                                 "JOB may be followed by its new priority, in place of --value.");
  priority.options.push_back({"value", 0, "NUMBER", "the new priority; higher starts first"});
  CommandSpec checkpoint = spec_of(
      "checkpoint", "Report that a job has saved its work",
      "Preemption first stops the jobs that lose the least work since their last report. Inside\n"
      "a job, JOB may be left out.");
  checkpoint.operands = "[JOB]";
  checkpoint.operands_min = 0;
  checkpoint.operands_max = 1;
  CommandSpec keep = spec_of(
      "keep", "Keep sessions that would be ended because nobody uses them",
      "Keeps them for as long as the cluster's rule for idle sessions allows, or for --for if\n"
      "that is shorter. A session's lifetime stays as it is.");
  keep.options.push_back({"for", 0, "SPAN", "how long: 30m, 4h"});
  CommandSpec requeue = spec_of(
      "requeue", "Run jobs again from the start",
      "A running job is stopped and waits for its next attempt; an ended one waits again, with\n"
      "all its time, if it could be submitted now.");
  requeue.options.push_back({"hold", 0, "", "have it wait until it is released"});
  return {{checkpoint, guarded("checkpoint", run_checkpoint)},
          {keep, guarded("keep", run_keep)},
          {cancel, guarded("cancel", run_cancel)},
          simple("hold", "Keep waiting jobs from starting", "", "held"),
          simple("release", "Let held jobs start", "", "released"),
          {requeue, guarded("requeue", run_requeue)},
          {priority, guarded("priority", run_priority)}};
}

}  // namespace dove::cli
