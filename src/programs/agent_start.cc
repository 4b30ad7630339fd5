#include "programs/agent_start.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "agent/aside/side_threads.h"
#include "agent/attempts/own_directory.h"
#include "agent/containers/container_egress.h"
#include "agent/tasks/python_package.h"
#include "files/text_file.h"
#include "telemetry/log.h"
#include "wire/loop.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSftp = "dove-sftp";
// At the first start there are no tasks, and no address from before.
constexpr std::chrono::seconds kFirstWait{20};
constexpr std::size_t kAddressMax_bytes = 4096;

// The commands that a job's script may call, by their Slurm names; first in its PATH. And what
// serves `sftp` there.
Result<void> make_faces(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const char* name : {"dove", "srun", "sbatch", "squeue", "scancel", "sinfo", "scontrol",
                           "tcloud", "dove-rsh", kSftp}) {
    const fs::path link = fs::path(directory) / name;
    fs::remove(link, error);
    fs::create_symlink(name == kSftp ? fs::path(beside_us(kSftp)) : self, link, error);
    if (error) {
      return Error{ErrorKind::kInvalid, "data_dir",
                   fmt::format("{}: {}", link.string(), error.message()), directory};
    }
  }
  return {};
}

}  // namespace

bool ends_in_time(std::chrono::milliseconds limit, std::function<void()> work) {
  wire::Loop loop;
  agent::SideThreads side(loop, 1);
  return side.wait("start", limit, std::move(work));
}

std::string beside_us(const char* program) {
  std::error_code error;
  return (fs::read_symlink("/proc/self/exe", error).parent_path() / program).string();
}

Result<void> make_tools(const agent::AgentOptions& options) {
  TRY(make_faces(options.bin_directory));
  return agent::write_python_package(options.python_directory);
}

void make_shared_places(const std::string& shared) {
  const bool in_time = ends_in_time(kStartWait, [shared] {
    const Result<void> made = agent::make_shared_places(shared);
    if (made.ok()) return;
    telemetry::log(telemetry::Level::kWarning, "no_directory",
                   {{"path", made.error().field}, {"why", made.error().message}});
  });
  if (in_time) return;
  telemetry::log(telemetry::Level::kWarning, "no_answer",
                 {{"path", shared}, {"why", "look at its mount: findmnt -T " + shared}});
}

containers::ControllerPlace controller_of(const agent::AgentOptions& options) {
  const std::string path = options.data_dir + "/controller-address";
  const std::string kept = files::text_or_empty(path, kAddressMax_bytes);
  const std::string host = options.host + " ";
  const bool is_known = kept.starts_with(host) && kept.ends_with('\n');
  const auto found = std::make_shared<containers::ControllerPlace>();
  const bool in_time = ends_in_time(is_known ? kStartWait : kFirstWait,
                                    [found, of = options.host, port = options.port] {
                                      *found = agent::controller_place(of, port);
                                    });
  if (!in_time) {
    telemetry::log(telemetry::Level::kWarning, "controller_not_looked_up",
                   {{"host", options.host},
                    {"why", "the directory of names does not answer"},
                    {"address", is_known ? "as before" : "none"}});
    if (!is_known) return {"", options.port};
    return {kept.substr(host.size(), kept.size() - host.size() - 1), options.port};
  }
  const std::string now = fmt::format("{}{}\n", host, found->address);
  if (found->address.empty() || now == kept) return *found;
  const Result<void> written = files::write_atomically(path, now, 0644);
  if (!written.ok()) {
    telemetry::log(telemetry::Level::kWarning, "address_not_kept",
                   {{"why", written.error().message}});
  }
  return *found;
}

}  // namespace dove::programs
