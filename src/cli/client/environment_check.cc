#include "cli/client/environment_check.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/client/pages.h"
#include "cli/client/program.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

constexpr int kCheckLimit_s = 20;

// The server's data lies here, and all its nodes were booted when this machine was.
bool all_is_here(Api& api) {
  if (!api.endpoint().origin.ends_with("/url")) return false;  // the file of a data directory
  const auto boot_id = read_line_file("/proc/sys/kernel/random/boot_id");
  const auto nodes = get_all(api, "/v1/nodes", "nodes");
  if (!boot_id.ok() || !nodes.ok()) return false;
  std::size_t here = 0;
  for (const nlohmann::json& node : list_of(*nodes, "nodes")) {
    if (node.value("removed", false)) continue;
    if (text_of(node, "boot_id") != *boot_id) return false;
    ++here;
  }
  return here > 0;
}

}  // namespace

Result<void> check_environment(Api& api, const jobfiles::ParsedJob& job) {
  if (job.environment.empty() || !all_is_here(api)) return {};
  ProgramWanted wanted;
  wanted.command = {"/bin/bash", "-c", job.environment};
  wanted.environment = {"DOVE_ENVIRONMENT_CHECK=1"};
  wanted.keep_output = true;
  wanted.limit_s = kCheckLimit_s;
  const auto end = run_program(wanted);
  if (!end.ok() || end->code == 0) return {};
  std::string why = end->output;
  while (why.ends_with('\n')) why.pop_back();
  if (why.starts_with("dove: ")) why.erase(0, 6);
  return Error{ErrorKind::kInvalid, "no_environment",
               fmt::format("{}; see docs/guide/tuxiv.md", why), ""};
}

}  // namespace dove::cli
