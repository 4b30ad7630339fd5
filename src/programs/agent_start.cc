#include "programs/agent_start.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
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

// "HOST ADDRESS" in lines; a line that was not written whole is none.
std::map<std::string, std::string> read_addresses(const std::string& text) {
  std::map<std::string, std::string> addresses;
  std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos) addresses[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return addresses;
}

// With what was known before of names that have no address now.
void keep_addresses(const std::string& path, const std::string& text,
                    const std::map<std::string, std::string>& kept,
                    const std::vector<containers::ControllerPlace>& found) {
  std::map<std::string, std::string> now;
  for (const containers::ControllerPlace& one : found) {
    const auto before = kept.find(one.host);
    if (!one.address.empty()) {
      now[one.host] = one.address;
    } else if (before != kept.end()) {
      now.insert(*before);
    }
  }
  std::string lines;
  for (const auto& [host, address] : now) lines += fmt::format("{} {}\n", host, address);
  if (lines == text) return;
  const Result<void> written = files::write_atomically(path, lines, 0644);
  if (written.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "address_not_kept",
                 {{"why", written.error().message}});
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

std::vector<containers::ControllerPlace> controllers_of(const agent::AgentOptions& options) {
  const std::string path = options.data_dir + "/controller-address";
  const std::string text = files::text_or_empty(path, kAddressMax_bytes);
  const std::map<std::string, std::string> kept = read_addresses(text);
  std::vector<wire::ServerUrl> urls{{options.tls, options.host, options.port, ""}};
  const auto& others = options.other_controllers;
  urls.insert(urls.end(), others.begin(), others.end());
  std::vector<containers::ControllerPlace> places;
  for (const wire::ServerUrl& url : urls) places.push_back({"", url.port, url.secure, url.host});
  const auto found = std::make_shared<std::vector<containers::ControllerPlace>>(places);
  const bool in_time = ends_in_time(kept.empty() ? kFirstWait : kStartWait, [found] {
    for (containers::ControllerPlace& one : *found) {
      one.address = agent::controller_place(one.host, one.port).address;
    }
  });
  if (in_time) {  // else what is being looked up belongs to the look-up
    places = *found;
    keep_addresses(path, text, kept, places);
  }
  for (containers::ControllerPlace& one : places) {
    if (!one.address.empty()) continue;
    const auto before = kept.find(one.host);
    if (before != kept.end()) one.address = before->second;
    telemetry::log(
        telemetry::Level::kWarning, "controller_not_looked_up",
        {{"host", one.host},
         {"why", in_time ? "the name is not known" : "the directory of names does not answer"},
         {"address", one.address.empty() ? "none" : "as before"}});
  }
  return places;
}

}  // namespace dove::programs
