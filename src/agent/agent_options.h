// AgentOptions: what an agent knows about its node, its controller and its limits before it starts.
// Plain values; the programs and simulations that create an agent fill them in.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/attempts/finished.h"
#include "agent/devices/device_allocator.h"
#include "agent/devices/slice_cutter.h"
#include "agent/health/health.h"
#include "agent/health/preflight.h"
#include "agent/session/node_description.h"
#include "agent/session/task_offer.h"
#include "agent/tasks/environment.h"
#include "base/result.h"
#include "wire/async_client.h"

namespace dove::agent {

struct AgentOptions {
  std::string name;
  std::string address = "127.0.0.1";
  std::string boot_id;
  std::string data_dir;            // the agent's own: attempts, finished, token, lease, contact
  std::string host = "127.0.0.1";  // of the controller
  std::uint16_t port = 0;
  bool tls = false;
  std::vector<wire::ServerUrl> other_controllers = {};  // of the same cluster; all are tried
  std::string ca_file = {};                             // UplinkOptions
  std::string authority_digest = {};                    // UplinkOptions
  std::string join_token;                               // used when there is no agent token yet
  std::string bin_directory;
  std::string shared_directory;
  std::string version;
  Planes planes;
  std::string python_directory;  // with the package dove; "": tasks find none
  std::string machine_id;        // agent/session/machine_id.h; "": not known
  std::string stage_directory;   // of checkpoints on their way; "": there is none
  ShareOptions shares = {};
  std::string memory_directory = "/dev/shm";  // a tmpfs, for secrets of tasks
  std::string not_enforced;  // limits that tasks do not have here, and why; "": they have all
  std::optional<TaskOffer> offer = {};  // unset: the controller hears nothing of it
  NetworkRule networks = NetworkRule::kAuto;
  std::function<NetworkOffer()> network_offer = {};  // unset: there are no networks
  bool mapped_users = true;
  std::chrono::seconds former_wait{0};  // for the end of an agent on the same data directory
  bool keeps_records = true;            // false: attempts leave nothing on disk (the null fleet)
  std::int64_t output_rotate_bytes = 64 << 20;
  // Pings come every 2 s (3 at most): an orders stream that is silent for this long has lost its
  // controller.
  std::int64_t stream_silence_us = 10'000'000;
  // From asking for an orders stream until it is open; a connection of its own may take 20 s.
  std::int64_t stream_open_us = 30'000'000;
  // Its node, directories and so on are the agent's; without `watches_health` nothing is checked.
  HealthOptions health;
  bool watches_health = false;
  // Between two tellings of an attempt's steps; 0: none is told.
  std::chrono::milliseconds progress_every{5'000};
  PreflightOptions preflight;
  // Directories of users and file systems outside have to answer in this time before an attempt can
  // start.
  std::chrono::milliseconds needs_limit{120'000};
  bool has_ring = false;    // listens at `address` for the rings of preflights
  FinishedLimits finished;  // of what stays on disk of attempts that are over
  // Told each renewal: the lease's new deadline (CLOCK_BOOTTIME). Unset: there are no shims.
  std::function<void(std::int64_t deadline_us)> renew_lease;
  // The join token is not taken (401), and will not be: without it there is nothing to go on with.
  std::function<void(const Error&)> join_refused = {};
  // Cuts devices into slices. Unset: nothing is cut, and slices are what their places say.
  SliceCutter::Arrange arrange;
  DeviceAllocator::Plugins plugins = {};  // unset: there are none
  // This machine's clock, in microseconds since 1970, by which pauses are seen. Unset: the loop's.
  std::function<std::int64_t()> wall_us = {};
};

}  // namespace dove::agent
