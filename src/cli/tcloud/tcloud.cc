// tcloud submit, ps, cancel, config, init, add, env ls: TACC's command line against our server.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/client/submission.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/tcloud/paths.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "files/text_file.h"
#include "jobfiles/source.h"

namespace dove::cli {
namespace {

namespace fs = std::filesystem;

// Another face's command, in this process.
int run_face(std::vector<std::string> words, const Invocation& invocation) {
  for (const char* name : {"url", "data"}) {
    if (invocation.has(name)) words.push_back(fmt::format("--{}={}", name, invocation.get(name)));
  }
  if (invocation.has("insecure")) words.emplace_back("--insecure");
  std::vector<char*> arguments;
  std::string program = "dove";
  arguments.push_back(program.data());
  for (std::string& word : words) arguments.push_back(word.data());
  return run_cli({}, static_cast<int>(arguments.size()), arguments.data());
}

Result<int> run_submit(const Invocation& invocation) {
  const std::string directory = invocation.operands.empty() ? "." : invocation.operands[0];
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(fs::absolute(directory, error), error);
  if (!fs::is_directory(absolute, error)) {
    return usage_error(
        fmt::format("{}: is not a directory; tcloud submits directories", directory));
  }
  print("Start parsing tuxiv.conf...\n");
  std::fflush(stdout);
  TRY_ASSIGN(jobfiles::Source source, read_source(absolute.string()));
  jobfiles::Context context = context_for(absolute.string(), source);
  context.userdir = tcloud_userdir();
  TRY_ASSIGN(const jobfiles::ParsedJob job, jobfiles::parse(source, context));
  print_warnings(job.warnings);
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const Submitted submitted, submit(api, job));
  print(fmt::format("Submitted batch job {}\nJob {} submitted.\n", submitted.id,
                    absolute.filename().string()));
  return 0;
}

Result<int> run_ps(const Invocation& invocation) {
  std::vector<std::string> words = {"squeue"};
  if (invocation.has("job")) words.insert(words.end(), {"-j", invocation.get("job")});
  return run_face(words, invocation);
}

Result<int> run_cancel(const Invocation& invocation) {
  const std::string job =
      invocation.get("job", invocation.operands.empty() ? std::string() : invocation.operands[0]);
  if (job.empty()) return usage_error("which job? tcloud cancel -j ID");
  return run_face({"scancel", job}, invocation);
}

Result<int> run_config(const Invocation& invocation) {
  TcloudConfig config = read_tcloud_config();
  if (invocation.has("username")) config.username = invocation.get("username");
  if (invocation.has("userdir")) config.userdir = invocation.get("userdir");
  if (invocation.has("file")) {
    face_says("tcloud",
              "warning: -f has no effect: no SSH key is needed, the token proves who calls");
  }
  TRY(write_tcloud_config(config));
  print(fmt::format("username: {}\nuserdir: {}\n",
                    config.username.empty() ? local_user() : config.username, tcloud_userdir()));
  return 0;
}

Result<int> run_init(const Invocation& invocation) {
  std::error_code error;
  fs::create_directories(fs::path(tcloud_userdir()) / "slurm_log", error);
  if (error)
    return usage_error(fmt::format("{}: {}; set TACC_USERDIR", tcloud_userdir(), error.message()));
  return run_face({"sinfo"}, invocation);
}

Result<int> run_add(const Invocation& invocation) {
  Result<std::string> read = files::read_text("tuxiv.conf", jobfiles::kFileBytesMax);
  if (!read.ok() && read.error().kind == ErrorKind::kNotFound) {
    return usage_error("there is no tuxiv.conf here: go to the job's directory first");
  }
  TRY_ASSIGN(std::string text, std::move(read));
  for (const std::string& package : invocation.operands) {
    if (package.find_first_of("\n\r#") != std::string::npos) {
      return usage_error(fmt::format("'{}' is no package", package));
    }
    TRY_ASSIGN(text, with_dependency(text, package));
  }
  struct stat seen = {};  // it may hold secrets: whoever could read it can, and nobody else
  const mode_t mode = ::stat("tuxiv.conf", &seen) == 0 ? seen.st_mode & 0777 : 0600;
  TRY(files::write_atomically("tuxiv.conf", text, mode));
  for (const std::string& package : invocation.operands)
    print(fmt::format("Added {} to tuxiv.conf.\n", package));
  return 0;
}

void list_folder(const fs::path& folder, const std::string& wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory(error)) continue;
    const std::string name = entry.path().filename().string();
    if (name[0] == '.' || (!wanted.empty() && !name.starts_with(wanted))) continue;
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    print(fmt::format("{:<24} {}\n", name, (folder / name).string()));
    if (wanted.empty()) continue;
    std::ifstream list(folder / name / "requirements.txt");
    for (std::string line; std::getline(list, line);) print("  " + line + "\n");
  }
}

// conda's environments where there is conda, and the venvs that stand for them elsewhere.
Result<int> run_env_ls(const Invocation& invocation) {
  const std::string wanted =
      invocation.get("name", invocation.operands.empty() ? std::string() : invocation.operands[0]);
  if (wanted.find('/') != std::string::npos)
    return usage_error("the name of an environment may not contain '/'");
  list_folder(local_home() + "/.Miniconda3/envs", wanted);
  list_folder(local_home() + "/.dove/environments", wanted);
  return 0;
}

CommandSpec spec_of(const std::string& name, const std::string& summary) {
  CommandSpec spec;
  spec.name = "tcloud " + name;
  spec.summary = summary;
  spec.group = kFaceGroup;
  return spec;
}

}  // namespace

std::vector<Command> tcloud_commands() {
  CommandSpec submit = spec_of("submit", "Submit a directory with a tuxiv.conf (as TACC's)");
  submit.operands = "[DIRECTORY]";
  submit.operands_max = 1;
  submit.completes = "file";
  CommandSpec ps = spec_of("ps", "List jobs");
  ps.options = {{"job", 'j', "ID", "this one"}};
  CommandSpec cancel = spec_of("cancel", "Cancel a job");
  cancel.operands = "[ID]";
  cancel.operands_max = 1;
  cancel.options = {{"job", 'j', "ID", "this one"}};
  CommandSpec config = spec_of("config", "Keep a user's name and directory");
  config.options = {{"username", 'u', "NAME", "the user"},
                    {"userdir", 0, "DIR", "USERDIR, where data is (~/USERDIR)"},
                    {"file", 'f', "FILE", "no effect: keys are not needed"}};
  CommandSpec init = spec_of("init", "Make USERDIR and show the cluster");
  CommandSpec add = spec_of("add", "Add packages to the environment of ./tuxiv.conf");
  add.operands = "PACKAGE[=VERSION]...";
  add.operands_min = 1;
  add.operands_max = -1;
  CommandSpec env = spec_of("env ls", "List environments, or the packages of one");
  env.operands = "[NAME]";
  env.operands_max = 1;
  env.options = {{"name", 'n', "NAME", "this one"}};
  return {
      {submit, guarded_face("tcloud", run_submit)}, {ps, guarded_face("tcloud", run_ps)},
      {cancel, guarded_face("tcloud", run_cancel)}, {config, guarded_face("tcloud", run_config)},
      {init, guarded_face("tcloud", run_init)},     {add, guarded_face("tcloud", run_add)},
      {env, guarded_face("tcloud", run_env_ls)}};
}

}  // namespace dove::cli
