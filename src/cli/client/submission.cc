#include "cli/client/submission.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "cli/client/environment_check.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "jobfiles/options.h"
#include "telemetry/clock.h"
#include "wire/secret.h"

namespace dove::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array<const char*, 6> kJobFiles = {"tuxiv.conf", "tuxiv.config", "job.yaml",
                                                  "job.yml",    "job.json",     "job.sh"};
constexpr int kAttempts = 4;

Error cannot_read(const std::string& path) {
  return Error{ErrorKind::kInvalid, "cannot_read",
               fmt::format("{}: no such file, or it cannot be read", path), path};
}

Result<std::string> read_stream(std::istream& stream, const std::string& name) {
  std::string text;
  std::array<char, 65536> chunk{};
  while (stream.read(chunk.data(), chunk.size()) || stream.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > jobfiles::kFileBytesMax) {
      return Error{
          ErrorKind::kTooLarge, "file_too_large",
          fmt::format("{}: over {} MiB; a job file says what to run, it does not hold data", name,
                      jobfiles::kFileBytesMax >> 20),
          name};
    }
  }
  return text;
}

Result<std::string> read_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) return cannot_read(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot_read(path);
  return read_stream(file, path);
}

std::string working_directory() {
  // As the shell shows it, links and all, when that is where we are.
  std::error_code error;
  const std::string shown = environment_value("PWD");
  if (!shown.empty() && shown[0] == '/' && fs::equivalent(shown, ".", error)) return shown;
  return fs::current_path(error).string();
}

// tuxiv's jobs write below USERDIR, which tcloud makes when it submits.
void make_log_directory(const jobfiles::ParsedJob& job) {
  const auto found = job.submission.exec.environment.find("TACC_SLURM_USERLOG");
  if (found == job.submission.exec.environment.end()) return;
  std::error_code error;
  fs::create_directories(found->second, error);
  if (error) say(fmt::format("{}: {}; set TACC_USERDIR", found->second, error.message()));
}

}  // namespace

Result<jobfiles::Source> read_source(const std::string& path) {
  jobfiles::Source source;
  if (path == "-") {
    std::ifstream stdin_file("/dev/stdin", std::ios::binary);
    source.name = "stdin";
    TRY_ASSIGN(source.text, read_stream(stdin_file, source.name));
    return source;
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return cannot_read(path);
  source.name = path;
  if (S_ISDIR(info.st_mode)) {
    const std::string base = path.ends_with('/') ? path : path + "/";
    source.name.clear();
    for (const char* name : kJobFiles) {
      if (stat((base + name).c_str(), &info) != 0) continue;
      source.name = base + name;
      break;
    }
    if (source.name.empty()) {
      return Error{
          ErrorKind::kInvalid, "no_job_file",
          fmt::format("{} holds no job file; looked for {}", path, fmt::join(kJobFiles, ", ")),
          path};
    }
  }
  TRY_ASSIGN(source.text, read_file(source.name));
  return source;
}

namespace {

// Names of variables that hold a secret of this task's job. What it submits or starts gets those
// that it asks for itself, from the agent, and no order or log ever holds one.
std::set<std::string, std::less<>> secret_variables() {
  std::set<std::string, std::less<>> names{"DOVE_SECRET_VARIABLES", "DOVE_SECRETS"};
  std::istringstream list(environment_value("DOVE_SECRET_VARIABLES"));
  for (std::string name; std::getline(list, name, ',');) names.insert(name);
  return names;
}

// "RANK=1": what makes a rank of this task makes none of what it submits or starts.
std::set<std::string, std::less<>> given_to_this_task() {
  std::set<std::string, std::less<>> given;
  std::istringstream words(environment_value("DOVE_GIVEN"));
  for (std::string word; words >> word;) given.insert(word);
  return given;
}

}  // namespace

jobfiles::Context local_context() {
  jobfiles::Context context;
  context.user = local_user();
  context.host = local_host();
  context.home = local_home();
  context.workdir = working_directory();
  std::error_code error;
  context.physical_workdir = fs::current_path(error).string();
  context.userdir = environment_value("TACC_USERDIR");
  context.now = Instant{telemetry::now_us()};
  context.utc_offset_s = utc_offset_s(context.now.us);
  const std::set<std::string, std::less<>> given = given_to_this_task();
  const std::set<std::string, std::less<>> secret = secret_variables();
  context.environment = own_variables();
  std::erase_if(context.environment, [&](const auto& one) {
    return given.contains(one.first + "=" + one.second) || secret.contains(one.first);
  });
  context.read_file = [](const std::string& path) { return read_file(path); };
  return context;
}

jobfiles::Context context_for(const std::string& path, const jobfiles::Source& source) {
  jobfiles::Context context = local_context();
  if (path == "-") return context;
  const fs::path name = source.name;
  const std::string base = name.filename().string();
  std::error_code error;
  // tuxiv's job is its directory; a script runs where it was submitted, as with sbatch.
  if (fs::is_directory(path, error) || base.starts_with("tuxiv.")) {
    const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
    context.workdir = fs::weakly_canonical(fs::absolute(folder), error).string();
    context.physical_workdir = context.workdir;
  }
  return context;
}

std::vector<OptionSpec> sbatch_option_specs(const std::string& taken) {
  std::vector<OptionSpec> specs;
  for (const jobfiles::OptionRule& rule : jobfiles::option_rules()) {
    OptionSpec spec;
    spec.name = rule.name;
    spec.letter = taken.find(rule.letter) == std::string::npos ? rule.letter : '\0';
    spec.value = rule.argument == jobfiles::Argument::kNone ? "" : "VALUE";
    spec.value_optional = rule.argument == jobfiles::Argument::kOptional;
    spec.help = (rule.set == nullptr ? "no effect: " : "") + std::string(rule.text);
    spec.repeats = true;
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<jobfiles::Option> sbatch_options_of(const Invocation& invocation) {
  std::vector<jobfiles::Option> options;
  for (const jobfiles::OptionRule& rule : jobfiles::option_rules()) {
    for (const std::string& value : invocation.all(std::string(rule.name))) {
      options.push_back({std::string(rule.name), value, {"command line", 0, 0}});
    }
  }
  return options;
}

Result<JobId> find_element(const Invocation& invocation, JobId array, std::int32_t index) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json job, api.get(job_target(fmt::format("{}_{}", array.value, index))));
  return JobId{static_cast<std::uint64_t>(number_of(job, "id"))};
}

void print_warnings(const std::vector<jobfiles::Warning>& warnings) {
  std::fflush(stdout);
  for (const jobfiles::Warning& warning : warnings) fmt::print(stderr, "{}\n", to_text(warning));
}

Result<Submitted> submit(Api& api, const jobfiles::ParsedJob& job) {
  TRY(check_environment(api, job));
  make_log_directory(job);
  const json body = codec::write_submission(job.submission);
  const std::string key = wire::random_token(16);
  Result<json> answer = json();
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    answer = api.send("POST", "/v1/jobs", body, {{"Idempotency-Key", key}});
    if (answer.ok() || answer.error().kind != ErrorKind::kUnavailable) break;
    if (answer.error().code == "connection_refused" || attempt == kAttempts) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200 * attempt));
  }
  if (!answer.ok()) return jobfiles::in_typed_words(answer.error(), job);
  for (const json& warning : list_of(*answer, "warnings")) {
    fmt::print(stderr, "warning: {}\n",
               warning.is_string() ? warning.get<std::string>() : text_of(warning, "message"));
  }
  Submitted submitted;
  submitted.id = text_of(*answer, "id");
  for (const json& id : list_of(*answer, "ids")) submitted.ids.push_back(id.dump());
  return submitted;
}

Result<Submitted> submit_as_slurm(Api& api, jobfiles::ParsedJob job) {
  std::int32_t& priority = job.submission.spec.priority;
  const Result<Submitted> submitted = submit(api, job);
  if (submitted.ok() || submitted.error().code != "admin_only" || priority <= 0) return submitted;
  fmt::print(stderr,
             "warning: --priority {} is ignored: only administrators may give one above 0\n",
             priority);
  priority = 0;
  return submit(api, job);
}

}  // namespace dove::cli
