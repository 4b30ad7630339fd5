#include "cli/slurm/programs/broadcast.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/client/endpoint.h"
#include "cli/slurm/programs/program_path.h"
#include "cli/slurm/step_sizes.h"
#include "cli/terminal/output.h"
#include "codec/json.h"
#include "files/descriptor.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kCopyPatience_s = 30;
// Arguments: where, and the mode. Nobody runs half a program, and one that runs is left as it is.
// Nodes may share the folder, and others write there: mktemp's name is no other copy's and no link.
// A folder is no program.
constexpr const char kCopy[] = R"sh(
case $1 in
  *_%N) to=${1%"%N"}$SLURMD_NODENAME ;;
  *) to=$1 ;;
esac
own=$(mktemp "$to.XXXXXX") || exit 1
cat >"$own" && chmod "$2" "$own" && mv -fT "$own" "$to" && exit
rm -f "$own"
exit 1
)sh";
constexpr const char kRun[] = R"sh(exec "${0%"%N"}$SLURMD_NODENAME" "$@")sh";

Error not_copied(const std::string& why) {
  return Error{ErrorKind::kUnavailable, "not_copied", "--bcast: " + why, "bcast"};
}

// Runs the step with the file as this process's standard input.
Result<int> run_with_input(int file, const StepWanted& copy, const StepPlace& place) {
  const files::Descriptor former(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  if (::dup2(file, STDIN_FILENO) < 0) return not_copied(std::strerror(errno));
  const Result<int> code = run_step("srun", copy, place, kCopyPatience_s);
  if (former.is_open()) {
    ::dup2(former.get(), STDIN_FILENO);
  } else {
    ::close(STDIN_FILENO);
  }
  return code;
}

}  // namespace

Result<void> broadcast(const Invocation& invocation, const StepPlace& place, StepWanted& step) {
  const std::string program =
      found_program(step.command.front(), environment_value("PATH"), step.workdir, true);
  const files::Descriptor file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file.is_open() || ::fstat(file.get(), &about) != 0) {
    return not_copied(fmt::format("cannot read {}: {}", program, std::strerror(errno)));
  }
  if (!S_ISREG(about.st_mode)) return not_copied(program + " is no program");
  const std::string to =
      copy_path(invocation.get("bcast"), step.workdir, place.job, static_cast<int>(::getpid()));
  StepWanted copy;
  copy.name = "bcast";
  copy.command = {"/bin/sh",    "-c", kCopy,
                  "dove-bcast", to,   fmt::format("{:o}", about.st_mode & 0777)};
  copy.environment = {{"PATH", "/usr/bin:/bin"}};
  copy.workdir = step.workdir;
  TRY_ASSIGN(const json sizes, step_sizes(invocation));
  json asked{{"tasks_per_node", 1}, {"overlap", true}};
  for (const char* where : {"nodelist", "exclude", "relative"}) {
    if (sizes.contains(where)) asked[where] = sizes[where];
  }
  copy.sizes = codec::dump_json(asked);
  copy.stdin_text = "stream";
  copy.quiet = true;
  TRY_ASSIGN(const int code, run_with_input(file.get(), copy, place));
  if (code != 0) return not_copied("not all nodes have the program");
  if (step.name.empty()) step.name = program_name(program);
  step.command.front() = to;
  if (!to.ends_with(kOfNode)) return {};
  step.command.insert(step.command.begin(), {"/bin/sh", "-c", kRun});
  return {};
}

}  // namespace dove::cli
