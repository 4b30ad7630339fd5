#include "slurm/works/steps.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "files/own_directory.h"
#include "files/text_file.h"
#include "slurm/works/linux_user.h"
#include "slurm/works/step_keeper.h"

namespace dove::slurm {
namespace {

constexpr std::size_t kNumberBytesMax = 64;
constexpr std::size_t kStepsMax = 1000;  // in one command
constexpr const char kWarned_file[] = "warned";
constexpr std::array<const char*, 8> kFiles{"lock", "job",     "said",        "end",
                                            "stop", "end.new", kGivenUp_file, kWarned_file};
constexpr std::size_t kStepsBytesMax = 64 << 10;

Error not_here(const std::string& path, const char* what) {
  return Error{ErrorKind::kUnavailable, "no_state_directory",
               fmt::format("{} {}: {}; give --state-dir a directory that is kept", what, path,
                           std::strerror(errno)),
               "--state-dir"};
}

// Numbers with blanks between, as they were written; zeros where there are none.
template <std::size_t kCount>
std::array<std::int64_t, kCount> read_numbers(const std::string& path) {
  std::array<std::int64_t, kCount> numbers{};
  const std::string text = files::text_or_empty(path, kNumberBytesMax);
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int64_t& number : numbers) {
    while (at != end && *at == ' ') ++at;
    at = std::from_chars(at, end, number).ptr;
  }
  return numbers;
}

// Whether nobody holds the lock: the keeper is gone.
bool is_free(const std::string& path) {
  const files::Descriptor lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return !lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

StepSeen look_at(const std::string& directory, const PlaceholderKey& key) {
  StepSeen seen;
  seen.key = key;
  // In this order: one that ends meanwhile has written its end before it lets go of the lock.
  const bool is_gone = is_free(directory + "/lock");
  const std::string end = files::text_or_empty(directory + "/end", kNumberBytesMax);
  if (!end.empty()) {
    seen.state = StepSeen::State::kEnded;
    seen.code = static_cast<int>(std::strtol(end.c_str(), nullptr, 10));
  } else if (is_gone) {
    seen.state = StepSeen::State::kLost;
  }
  seen.slurm_job = read_numbers<1>(directory + "/job")[0];
  const auto [since, signals] = read_numbers<2>(directory + "/stop");
  seen.stop_since_s = since;
  seen.signals = static_cast<int>(signals);
  const auto has = [&](const char* name) {
    return ::access((directory + "/" + name).c_str(), F_OK) == 0;
  };
  seen.is_given_up = has(kGivenUp_file);
  seen.is_warned = has(kWarned_file);
  const files::Descriptor said(::open((directory + "/said").c_str(), O_RDONLY | O_CLOEXEC));
  if (!said.is_open()) return seen;
  seen.said.resize(kSaidMax);
  const ssize_t bytes = ::read(said.get(), seen.said.data(), seen.said.size());
  seen.said.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  return seen;
}

}  // namespace

std::string step_name(const PlaceholderKey& key) {
  return fmt::format("{}.{}.{}", key.job, key.attempt, key.node);
}

std::optional<PlaceholderKey> read_step_name(const std::string& name) {
  PlaceholderKey key;
  const char* const end = name.data() + name.size();
  const auto job = std::from_chars(name.data(), end, key.job);
  if (job.ec != std::errc() || job.ptr == end || *job.ptr != '.') return std::nullopt;
  const auto attempt = std::from_chars(job.ptr + 1, end, key.attempt);
  if (attempt.ec != std::errc() || attempt.ptr == end || *attempt.ptr != '.') return std::nullopt;
  key.node.assign(attempt.ptr + 1, end);
  if (key.node.empty() || step_name(key) != name) return std::nullopt;
  return key;
}

bool has_first_step(std::string_view lines, std::int64_t slurm_job) {
  const std::string first = fmt::format("{}.0", slurm_job);
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    if (line == first) return true;
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return false;
}

std::vector<std::string> inner_steps(std::string_view lines, std::int64_t slurm_job) {
  const std::string begin = fmt::format("{}.", slurm_job);
  std::vector<std::string> inner;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    // The first is what we began; "12.extern" and "12.batch" are Slurm's own.
    int step = 0;
    if (!line.starts_with(begin)) continue;
    const std::string_view number = line.substr(begin.size());
    const auto read = std::from_chars(number.data(), number.data() + number.size(), step);
    const bool is_number = read.ec == std::errc() && read.ptr == number.data() + number.size();
    if (is_number && step > 0 && inner.size() < kStepsMax) inner.emplace_back(line);
  }
  return inner;
}

StepDirectory::StepDirectory(std::string path, Run run)
    : path_(std::move(path)), run_(std::move(run)) {
  if (!run_) run_ = run_command;
}

Result<std::vector<StepSeen>> StepDirectory::all() {
  std::vector<StepSeen> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path_.c_str()), ::closedir);
  if (directory == nullptr) {
    if (errno == ENOENT) return found;
    return not_here(path_, "cannot read");
  }
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto key = read_step_name(entry->d_name);
    if (key) found.push_back(look_at(path_ + "/" + entry->d_name, *key));
  }
  return found;
}

Result<void> StepDirectory::begin(const StepWanted& wanted) {
  TRY_ASSIGN(const LinuxUser user, linux_user(wanted.work.user));
  StepWanted step = wanted;
  step.home = user.home;
  if (step.work.program->script.size() > kScriptMax) {
    return Error{ErrorKind::kInvalid, "script_too_large", "the script is over 8 MiB", "script"};
  }
  const std::string name = step_name(step.work.key);
  if (name.find('/') != std::string::npos) {
    return Error{ErrorKind::kInvalid, "bad_name", "the node's name has a slash", ""};
  }
  if (const Result<void> made = files::make_own_directory(path_); !made.ok()) {
    return Error{ErrorKind::kUnavailable, "no_state_directory",
                 made.error().message + "; give --state-dir a directory of its own", "--state-dir"};
  }
  // It gets this name only once it is locked: what is there without a lock is lost.
  const std::string fresh = path_ + "/new." + name;
  const std::string directory = path_ + "/" + name;
  if (::mkdir(fresh.c_str(), 0700) != 0 && errno != EEXIST) return not_here(fresh, "cannot make");
  const files::Descriptor lock(
      ::open((fresh + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return not_here(fresh, "cannot lock");
  }
  TRY(files::write_atomically(fresh + "/job", std::to_string(step.slurm_job) + "\n", 0600,
                              files::Survives::kPowerCut));
  if (::rename(fresh.c_str(), directory.c_str()) != 0) return not_here(directory, "cannot make");
  const char* slurm_conf = std::getenv("SLURM_CONF");
  Kept kept;
  kept.directory = directory;
  kept.words = srun_command(step);
  kept.environment = srun_environment(step, slurm_conf == nullptr ? "" : slurm_conf);
  kept.input = step.work.program->script;
  kept.user = user;
  kept.lock = lock.get();
  Result<void> begun = keep_step(kept);
  if (!begun.ok()) forget(step.work.key);
  return begun;
}

Result<void> StepDirectory::signal(const StepSeen& step, int signal, int number,
                                   std::int64_t at_s) {
  const std::int64_t since_s = step.stop_since_s > 0 ? step.stop_since_s : at_s;
  TRY(files::write_atomically(path_ + "/" + step_name(step.key) + "/stop",
                              fmt::format("{} {}\n", since_s, number), 0600));
  return cancel(signal, {std::to_string(step.slurm_job)});
}

Result<void> StepDirectory::cancel(int signal, std::vector<std::string> targets) const {
  targets.insert(targets.begin(), {"scancel", fmt::format("--signal={}", signal)});
  TRY_ASSIGN(const CommandEnd end, run_({.words = std::move(targets)}));
  if (end.code == 0 || end.said.find("Invalid job id") != std::string::npos) return {};
  return Error{ErrorKind::kUnavailable, "slurm_command",
               fmt::format("scancel exits with {}: {}", end.code, end.said), ""};
}

Result<std::vector<std::string>> StepDirectory::warned_of(const StepSeen& step,
                                                          bool steps_first) const {
  const std::string job = std::to_string(step.slurm_job);
  TRY_ASSIGN(const CommandEnd end,
             run_({.words = {"squeue", "--steps", "--noheader", "--format=%i", "--jobs=" + job},
                   .output_max = kStepsBytesMax}));
  if (end.code != 0) {
    return Error{ErrorKind::kUnavailable, "slurm_command",
                 fmt::format("squeue exits with {}: {}", end.code, end.said), ""};
  }
  // Slurm would take the signal, and nobody would get it.
  if (!has_first_step(end.output, step.slurm_job)) {
    return Error{ErrorKind::kConflict, "not_begun", "its first step has not begun", ""};
  }
  if (!steps_first) return std::vector{job};
  std::vector<std::string> inner = inner_steps(end.output, step.slurm_job);
  return inner.empty() ? std::vector{job} : std::move(inner);
}

Result<void> StepDirectory::warn(const StepSeen& step, const Warning& warning) {
  TRY_ASSIGN(std::vector<std::string> targets, warned_of(step, warning.steps_first));
  // Kept first: a second signal would do what the program does at its second one.
  TRY(files::write_atomically(path_ + "/" + step_name(step.key) + "/" + kWarned_file, "", 0600));
  return cancel(warning.signal, std::move(targets));
}

Result<void> StepDirectory::give_up(const PlaceholderKey& key) {
  return files::write_atomically(path_ + "/" + step_name(key) + "/" + kGivenUp_file, "", 0600);
}

void StepDirectory::forget(const PlaceholderKey& key) {
  const std::string directory = path_ + "/" + step_name(key);
  for (const char* name : kFiles) ::unlink((directory + "/" + name).c_str());
  ::rmdir(directory.c_str());
}

}  // namespace dove::slurm
