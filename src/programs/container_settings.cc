#include "programs/container_settings.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "devices/emulated/inventory_file.h"
#include "programs/agent_start.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

constexpr const char kCdiKinds[] = "nvidia=nvidia.com/gpu,amd=amd.com/gpu";

Result<agent::CdiNames> cdi_names(const Settings& given) {
  agent::CdiNames names;
  std::stringstream directories(given.text("cdi-dirs", "/etc/cdi,/var/run/cdi"));
  for (std::string one; std::getline(directories, one, ',');) names.directories.push_back(one);
  std::stringstream kinds(given.text("cdi-kinds", kCdiKinds));
  for (std::string one; std::getline(kinds, one, ',');) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos) {
      return Error{
          ErrorKind::kInvalid, "bad_setting",
          fmt::format("--cdi-kinds: '{}' is not of the form VENDOR=KIND, as in {}", one, kCdiKinds),
          "--cdi-kinds"};
    }
    names.kinds[one.substr(0, equals)] = one.substr(equals + 1);
  }
  const containers::CdiRegistry registry = containers::CdiRegistry::read(names.directories);
  for (const Error& error : registry.errors()) {
    telemetry::log(telemetry::Level::kWarning, "cdi_spec_refused", {{"why", error.message}});
  }
  return names;
}

}  // namespace

std::vector<cli::OptionSpec> container_option_specs() {
  return {
      {"container-runtime", 0, "PROGRAM", "auto, runc, crun, a path, or off: no containers (auto)",
       false},
      {"images", 0, "DIR",
       "images of containers: OCI layouts, archives, directories (DATA/image-files)", false},
      {"pull", 0, "", "pull images from registries too (docker://...)", false},
      {"image-days", 0, "DAYS", "how long unpacked images are kept that nothing uses (14)", false},
      {"volume-roots", 0, "DIRS",
       "DIR[=OWNER[+READER]...]: directories below which volumes of containers may be, and who "
       "owns and may read them among users without a Linux user (--shared)",
       false},
      {"default-network", 0, "WHICH",
       "network of a container whose job names none: gang, host, or auto: gang where possible "
       "(auto)",
       false},
      {"networks-out", 0, "WHERE",
       "where containers in gang networks may connect to: yes (anywhere), no, or networks "
       "separated by commas (yes)",
       false},
      {"scratch", 0, "AMOUNT", "what a container may write outside of volumes (4Gi)", false},
      {"cdi-dirs", 0, "DIRS", "CDI specifications of devices (/etc/cdi,/var/run/cdi)", false},
      {"cdi-kinds", 0, "LIST",
       "VENDOR=KIND: how CDI names devices (nvidia=nvidia.com/gpu,amd=amd.com/gpu)", false},
  };
}

Result<std::optional<agent::ContainerRunnerOptions>> container_settings(
    const Settings& given, const agent::AgentOptions& options, const std::string& contain_path) {
  agent::ContainerRunnerOptions containers;
  containers.runtime = given.text("container-runtime", "auto");
  if (containers.runtime == "off" || geteuid() != 0) return {std::nullopt};
  containers.contain_path = contain_path;
  containers.data_dir = options.data_dir;
  containers.python_directory = options.python_directory;
  containers.images =
      fs::absolute(given.text("images", options.data_dir + "/image-files")).string();
  TRY_ASSIGN(containers.pulls, given.flag("pull"));
  TRY_ASSIGN(const std::int64_t days, given.integer("image-days", 14, 1, 36'500));
  containers.images_kept = std::chrono::hours(24 * days);
  TRY_ASSIGN(containers.volume_roots,
             agent::parse_volume_roots(given.text("volume-roots", options.shared_directory)));
  TRY_ASSIGN(const Inventory sized, devices::emulated::parse_inventory(
                                        "memory: " + given.text("scratch", "4Gi"), "--scratch"));
  containers.scratch_bytes = sized.memory_bytes;
  containers.hostname = options.name;
  TRY_ASSIGN(containers.cdi, cdi_names(given));
  TRY_ASSIGN(containers.routes, containers::parse_routes(given.text("networks-out", "yes")));
  containers.controllers = controllers_of(options);
  return {std::move(containers)};
}

Result<agent::NetworkRule> network_rule(const Settings& given) {
  const std::string word = given.text("default-network", "auto");
  if (word == "auto") return agent::NetworkRule::kAuto;
  if (word == "gang") return agent::NetworkRule::kGang;
  if (word == "host") return agent::NetworkRule::kHost;
  return Error{ErrorKind::kInvalid, "bad_setting", "--default-network is auto, gang or host",
               "--default-network"};
}

void describe_node(const agent::ProcessRunner& processes, const agent::ContainerRunner* runner,
                   const std::optional<agent::ContainerRunnerOptions>& containers,
                   agent::AgentOptions& options) {
  options.not_enforced = processes.not_enforced();
  options.offer.emplace().limits_memory = processes.limits_memory();
  if (runner == nullptr) return;
  // Those in a directory that hangs are told when it answers: see watch_images().
  const auto images = std::make_shared<containers::ImageList>();
  const bool are_listed = ends_in_time(kStartWait, [images, directory = containers->images] {
    *images = containers::list_images(directory);
  });
  const containers::ImageList unknown{{}, /*is_whole=*/false};
  options.offer->containers = {containers->pulls, are_listed ? *images : unknown};
  in_addr address{};
  const bool is_own = ::inet_pton(AF_INET, options.address.c_str(), &address) == 1 &&
                      !options.address.starts_with("127.");
  options.network_offer = [&egress = runner->egress(), is_own] {
    return agent::NetworkOffer{egress.shortfall(), egress.controller_url(),
                               egress.has_vxlan() && is_own};
  };
}

std::unique_ptr<containers::ImageWatch> watch_images(
    wire::Loop& loop, agent::Agent& agent,
    const std::optional<agent::ContainerRunnerOptions>& containers,
    std::chrono::milliseconds interval) {
  if (!containers) return nullptr;
  return std::make_unique<containers::ImageWatch>(
      containers->images, agent.offer()->containers->images, interval,
      [&loop](std::function<void()> call) { loop.post(std::move(call)); },
      [&agent](containers::ImageList images) {
        agent::TaskOffer changed = *agent.offer();
        changed.containers->images = std::move(images);
        agent.set_offer(std::move(changed));
      });
}

}  // namespace dove::programs
