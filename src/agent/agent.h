// Agent: one node's side of api/agent-protocol.md.
//
// It joins its parts: Session (the controller), LaunchPipeline (attempts before they are active),
// Attempts (active ones), TaskStreams (their bytes), and the watches over the node. It passes each
// order to the part that handles it, and decides nothing. Loop thread only; many can share a loop
// (bench/null_fleet).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent_options.h"
#include "agent/aside/side_threads.h"
#include "agent/attempts/attempts.h"
#include "agent/attempts/finished.h"
#include "agent/attempts/launch_pipeline.h"
#include "agent/attempts/task_streams.h"
#include "agent/devices/device_allocator.h"
#include "agent/devices/slice_cutter.h"
#include "agent/health/health.h"
#include "agent/health/preflights.h"
#include "agent/health/progress.h"
#include "agent/idle/use_watch.h"
#include "agent/secrets/secret_requests.h"
#include "agent/session/node_description.h"
#include "agent/session/session.h"
#include "agent/session/uplink.h"
#include "agent/tasks/environment.h"
#include "agent/tasks/task.h"
#include "base/result.h"
#include "devices/readings.h"
#include "model/node.h"
#include "wire/loop.h"

namespace dove::agent {

class Agent {
 public:
  // `runner` outlives the agent.
  Agent(wire::Loop& loop, AgentOptions options, Inventory inventory, Runner& runner);
  ~Agent();

  // Takes up what a former life left, then begins to connect, for as long as it lives. Fails when
  // the data directory cannot be used.
  Result<void> start();
  // Stops every task (ActiveAttempt::leave), tells the controller nothing more, and calls `done`
  // when none is left, or with false after 10 s. For a cluster that goes down with its tasks.
  void stop_all(std::function<void(bool over)> done);
  bool connected() const { return session_.connected(); }
  // With TLS: called once there is a certificate, to listen with it. Errors are logged.
  using Listen = std::function<Result<void>(std::shared_ptr<const wire::Tls>)>;
  void once_certified(Listen listen) { once_certified_ = std::move(listen); }
  // What a device says of itself; see Health::found.
  void found(Finding finding);
  // What is in the machine changed; ids of devices are as before. The controller is told.
  void set_inventory(Inventory inventory);
  // What tasks may have here changed; the controller is told.
  void set_offer(TaskOffer offer);
  const std::optional<TaskOffer>& offer() const { return node_.offer(); }
  // What devices said a moment ago: whether they are idle, and how much attempts use them.
  void saw(const std::vector<devices::DeviceSample>& samples);
  // Devices that are cut into slices at the moment.
  const Slices& slices() const { return cutter_.slices(); }
  void set_cut(std::vector<std::int32_t> devices) { cutter_.saw_cut(std::move(devices)); }
  // In /dev, of each device, by id.
  void set_device_files(devices::DeviceFiles files) { device_files_ = std::move(files); }
  void set_fabric(devices::Fabric fabric);
  const std::string& name() const { return options_.name; }
  const Inventory& inventory() const { return node_.inventory(); }
  const Attempts::Active& active() const { return attempts_.active(); }
  // The controller refuses this agent for good (a wrong token): the message says what to do.
  const std::optional<Error>& refused() const { return session_.refused(); }

 private:
  Aside beside();
  DeviceAllocator::Plugins plugins();  // who asks which attempts live
  Session::Host session_host();
  LaunchPipeline::Host pipeline_host();
  Result<void> make_directories();
  void watch();
  void take_order(const protocol::Order& order, const nlohmann::json& line, std::string text);
  void take_control(const protocol::Control& line);
  bool counts_cards() const;  // no plug-in brings cards of that name
  Inventory whole_inventory() const;
  void look_at_inventory();
  void look_at_networks();
  void certified();

  wire::Loop& loop_;
  const AgentOptions options_;
  Inventory machine_;  // as it was found, without the cards of the fabric
  NodeDescription node_;
  devices::DeviceFiles device_files_;
  devices::Fabric fabric_;
  std::string cufile_text_;  // that stands in facts_.cufile
  SideThreads side_;
  AgentFacts facts_;
  Uplink uplink_;
  Session session_;
  TaskStreams streams_;
  SecretRequests secrets_;
  Attempts attempts_;
  SliceCutter cutter_;
  DeviceAllocator allocator_;
  Preflights preflights_;
  LaunchPipeline pipeline_;
  Listen once_certified_;
  std::unique_ptr<Health> health_;
  std::unique_ptr<ProgressWatch> progress_;
  std::unique_ptr<UseWatch> use_;
  std::optional<FinishedAttempts> finished_;
};

}  // namespace dove::agent
