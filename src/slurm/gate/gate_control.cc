#include "slurm/gate/gate_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace dove::slurm {
namespace {

constexpr std::size_t kTextMax = 64 << 10;

}  // namespace

Result<uid_t> slurm_user(
    const std::function<Result<CommandEnd>(const CommandWanted& wanted)>& run) {
  TRY_ASSIGN(const CommandEnd end,
             run({.words = {"scontrol", "show", "config"}, .output_max = kTextMax}));
  if (end.code != 0) {
    return Error{ErrorKind::kUnavailable, "slurm_command",
                 fmt::format("scontrol show config exits with {}: {}", end.code, end.said), ""};
  }
  // "SlurmUser               = slurm(64030)"
  std::string_view line = end.output;
  const std::size_t at = line.find("\nSlurmUser ");
  line.remove_prefix(at == std::string_view::npos ? line.size() : at + 1);
  line = line.substr(0, line.find('\n'));
  line.remove_prefix(std::min(line.find_last_of('('), line.size()));
  uid_t user = 0;
  const auto read = line.empty()
                        ? std::from_chars_result{line.data(), std::errc::invalid_argument}
                        : std::from_chars(line.data() + 1, line.data() + line.size(), user);
  if (read.ec != std::errc()) {
    return Error{ErrorKind::kInvalid, "slurm_output",
                 "scontrol show config does not say who SlurmUser is", ""};
  }
  return user;
}

CommandGate::CommandGate(Run run) : run_(std::move(run)) {
  if (!run_) run_ = run_command;
}

Result<void> CommandGate::run(std::vector<std::string> words, std::string input) const {
  const std::string program = words.front();
  TRY_ASSIGN(const CommandEnd end,
             run_({.words = std::move(words), .output_max = kTextMax, .input = std::move(input)}));
  if (end.code == 0) return {};
  return Error{ErrorKind::kUnavailable, "slurm_command",
               fmt::format("{} exits with {}: {}", program, end.code, end.said), ""};
}

Result<void> CommandGate::place(const std::string& handle, const GatePlacing& placing) {
  // A job that was put back has a time before which Slurm does not start it.
  std::vector<std::string> words{"scontrol",
                                 "update",
                                 "JobId=" + handle,
                                 "AdminComment=" + placing.mark,
                                 "NodeList=" + placing.nodes,
                                 "StartTime=now"};
  if (placing.nodes_exactly > 0) {
    words.push_back(fmt::format("NumNodes={0}-{0}", placing.nodes_exactly));
  }
  if (placing.cpus_of_each > 0) {
    words.push_back(fmt::format("MinCPUsNode={}", placing.cpus_of_each));
  }
  if (placing.comment) words.push_back("Comment=" + *placing.comment);
  return run(std::move(words));
}

Result<void> CommandGate::let_go(const std::string& handle) {
  // One process. It ends with 0 although a release has failed, but then the priority is refused.
  return run({"scontrol"}, fmt::format("release {}\nupdate JobId={} Priority={}\n", handle, handle,
                                       kGate_priority));
}

Result<void> CommandGate::put_back(const std::string& handle, const GatePutBack& one) {
  if (one.waits) {
    return run({"scontrol", "update", "JobId=" + handle, "AdminComment=" + one.mark, "Priority=0"});
  }
  // It may have ended since it was last seen, and Slurm would have a finished job wait again.
  if (one.may_requeue) return run({"scontrol", "requeuehold", "Incomplete", handle});
  return run({"scancel", handle});
}

Result<void> CommandGate::say(const std::string& handle, const std::string& words) {
  return run({"scontrol", "update", "JobId=" + handle, "Comment=" + words});
}

Result<void> CommandGate::mark(const std::string& handle, const std::string& text) {
  return run({"scontrol", "update", "JobId=" + handle, "AdminComment=" + text});
}

}  // namespace dove::slurm
