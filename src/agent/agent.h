// Agent: one node's side of api/agent-protocol.md.
//
// It joins, opens a session, carries orders out through HeldAttempts, reports what became of them,
// renews its tasks' lease, and after any break tells the controller everything it holds. It decides
// nothing. Loop thread only; many can share a loop (bench/null_fleet).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/aside/needs.h"
#include "agent/aside/side_threads.h"
#include "agent/attempts/finished.h"
#include "agent/attempts/held_attempt.h"
#include "agent/devices/device_allocator.h"
#include "agent/devices/slice_cutter.h"
#include "agent/health/health.h"
#include "agent/health/preflight.h"
#include "agent/health/progress.h"
#include "agent/idle/use_watch.h"
#include "agent/session/clock_check.h"
#include "agent/session/contact.h"
#include "agent/session/relays.h"
#include "agent/session/task_offer.h"
#include "agent/session/uplink.h"
#include "agent/tasks/environment.h"
#include "agent/tasks/task.h"
#include "base/random.h"
#include "base/result.h"
#include "devices/readings.h"
#include "model/node.h"
#include "protocol/session.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::agent {

// What networks of gangs are like on this node at the moment.
struct NetworkOffer {
  std::string shortfall;       // what they lack, with the remedy; "": nothing
  std::string controller_url;  // from within; "": as everywhere
  bool has_overlay = false;    // they can lead to other nodes
};

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
};

class Agent {
 public:
  // `runner` outlives the agent.
  Agent(wire::Loop& loop, AgentOptions options, Inventory inventory, Runner& runner);
  ~Agent();

  // Takes up what a former life left, then begins to connect, for as long as it lives. Fails when
  // the data directory cannot be used.
  Result<void> start();
  // Stops every task (HeldAttempt::leave), tells the controller nothing more, and calls `done`
  // when none is left, or with false after 10 s. For a cluster that goes down with its tasks.
  void stop_all(std::function<void(bool over)> done);
  bool connected() const { return !session_.empty(); }
  // With TLS: called once there is a certificate, to listen with it. Errors are logged.
  using Listen = std::function<Result<void>(std::shared_ptr<const wire::Tls>)>;
  void once_certified(Listen listen) { once_certified_ = std::move(listen); }
  // What a device says of itself; see Health::found.
  void found(Finding finding);
  // What is in the machine changed; ids of devices are as before. The controller is told.
  void set_inventory(Inventory inventory);
  // What tasks may have here changed; the controller is told.
  void set_offer(TaskOffer offer);
  const std::optional<TaskOffer>& offer() const { return options_.offer; }
  // What devices said a moment ago: whether they are idle, and how much attempts use them.
  void saw(const std::vector<devices::DeviceSample>& samples);
  // Devices that are cut into slices at the moment.
  const Slices& slices() const { return cutter_.slices(); }
  void set_cut(std::vector<std::int32_t> devices) { cutter_.saw_cut(std::move(devices)); }
  // In /dev, of each device, by id.
  void set_device_files(devices::DeviceFiles files) { device_files_ = std::move(files); }
  void set_fabric(devices::Fabric fabric);
  const std::string& name() const { return options_.name; }
  const Inventory& inventory() const { return inventory_; }
  const std::map<AttemptKey, std::unique_ptr<HeldAttempt>>& held() const { return held_; }
  // The controller refuses this agent for good (a wrong token): the message says what to do.
  const std::optional<Error>& refused() const { return refused_; }

 private:
  DeviceAllocator::Plugins plugins();  // who asks which attempts live
  void watch_progress();
  void watch_use();
  UseWatch::Held used(const HeldAttempt& held) const;
  void load_attempts();
  void load_attempt(const std::string& directory, std::optional<LaunchOrder> order);
  void look_up_users(const std::set<std::string>& users);
  Relays::Send relay_line();
  void connect();
  void join();
  void ask_for_certificate(std::function<void(Result<void>)> done);
  void certify();
  void renew_certificate_later();
  void listen_once_certified();
  void sync();
  void synced(const protocol::SyncAnswer& answer);
  void open_orders(std::uint64_t after);
  void on_line(std::string_view line);
  void on_order(const nlohmann::json& line, std::string text);
  void launch(AttemptKey key, const nlohmann::json& line, std::string text);
  void listen_for_rings();
  void try_and_launch(LaunchOrder order, std::string text);
  void preflight_ended(const LaunchOrder& order, const std::string& text,
                       const std::optional<PreflightFailure>& failure);
  std::string busy_device(const Placement& placement) const;
  void begin_launch(LaunchOrder order, std::string text);
  void cut_and_launch(LaunchOrder order, std::string text);
  void allocate_and_launch(LaunchOrder order, std::string text);
  void pass_barrier(AttemptKey key);
  void stop(AttemptKey key, bool preempted, std::chrono::milliseconds grace);
  void on_control(const protocol::Control& line);
  void signal(const protocol::Signal& signal);
  void start_step(const StepOrder& step);
  void open_relay(const protocol::RelayOrder& relay);
  std::string finished_output(AttemptKey key, Rank rank, bool is_stdout,
                              std::optional<std::string>& owner) const;
  bool is_one_file(AttemptKey key, Rank rank, const std::string& path) const;
  void forget(const std::vector<AttemptKey>& list);
  void watch_silence();
  void orders_closed(const Error& error);
  void lost_session(const Error& error);
  void connect_failed(const Error& error);
  std::int64_t outage_from_us() const;  // of an outage that is heard of now
  void controller_full(std::int64_t sent_us);
  void report(protocol::Report report);
  void tell_shares(const HeldAttempt& held);
  void tell_warnings(const HeldAttempt& held);
  // Whether containers whose job does not say have a network of their gang here.
  bool offers_networks() const;
  // What has changed of them is told with the inventory.
  void look_at_networks();
  void refuse(AttemptKey key, const std::string& why);
  void step_output(const StepAttach& step, const StepTaskOutput& output);
  void attach_step(const StepAttach& attach);
  void exec(const ExecOrder& order);
  void forward(const ForwardOrder& order);
  std::unique_ptr<wire::WebSocket> dial_exec(const std::string& id,
                                             wire::WebSocketCallbacks callbacks);
  void flush_reports();
  void send_report();
  void reported(std::size_t count, std::uint64_t inventory_version, std::int64_t sent_us,
                const Result<wire::Response>& answer);
  void joined(const Result<wire::Response>& answer);
  void sync_answered(const Result<wire::Response>& answer, std::int64_t sent_us);
  void post_flush(std::int64_t wait_us);
  std::int64_t backoff_us();
  void compare_clocks(std::int64_t sent_us, std::int64_t controller_us);
  void heartbeat();
  void renew();
  void check_stopped(std::int64_t since_us, std::int64_t kill_after_us);
  std::uint64_t placements_hash() const;
  protocol::Machine machine() const;
  HeldAttempt& hold(LaunchOrder order);
  // Asks until there is an answer, for a minute.
  void ask_secrets(AttemptKey key, int tries,
                   std::function<void(Result<std::vector<TaskSecret>>)> done);
  void meet(AttemptKey key, Needs needs, std::function<void(Result<void>)> done);
  std::unique_ptr<StepInput> step_input(const StepOrder& step, std::function<void()> on_end);
  wire::Request request(std::string method, std::string target, std::string body) const;
  std::string attempt_directory(AttemptKey key) const;

  wire::Loop& loop_;
  AgentOptions options_;
  Inventory inventory_;
  devices::DeviceFiles device_files_;
  devices::Fabric fabric_;
  std::string cufile_text_;  // that stands in facts_.cufile
  Runner& runner_;
  SideThreads side_;
  AgentFacts facts_;
  Uplink uplink_;
  Listen once_certified_;
  std::optional<Contact> contact_;
  std::string agent_token_;
  std::string ticket_;                // what the next sync is to show; empty: it asks for one
  bool brings_ends_ = false;          // the next sync; the cluster's log was restored
  std::string session_;               // empty: not connected
  std::uint64_t session_number_ = 0;  // answers that are for a former one are not heard
  std::optional<Error> refused_;
  std::unique_ptr<wire::InStream> orders_;
  // The stream of the previous session, which fell silent: open until there is another.
  std::unique_ptr<wire::InStream> silent_orders_;
  std::int64_t orders_heard_us_ = 0;
  std::map<AttemptKey, std::unique_ptr<HeldAttempt>> held_;
  std::unique_ptr<RingHub> hub_;
  std::map<AttemptKey, std::unique_ptr<Preflight>> preflights_;  // of what is not held yet
  std::map<std::string, double> device_used_mib_;                // by uuid
  SliceCutter cutter_;
  DeviceAllocator allocator_;
  ClockCheck clock_;
  std::unique_ptr<Relays> relays_;
  std::unique_ptr<Health> health_;
  std::unique_ptr<ProgressWatch> progress_;
  std::unique_ptr<UseWatch> use_;
  std::optional<FinishedAttempts> finished_;
  std::deque<protocol::Report> reports_;  // not yet acknowledged
  bool in_flight_ = false;                // a report
  std::string not_enforced_;              // limits, and what networks of gangs lack
  std::uint64_t inventory_version_ = 1;
  std::uint64_t inventory_synced_ = 0;  // the version in the sync under way
  std::uint64_t inventory_told_ = 0;    // the version that this session's controller has
  bool flush_posted_ = false;
  std::uint64_t report_number_ = 0;
  std::uint64_t applied_ = 0;
  std::int64_t fence_us_ = 5'000'000;
  std::int64_t disconnect_grace_us_ = 300'000'000;
  std::int64_t heartbeat_us_ = 2'000'000;
  bool broken_ = true;       // the last session ended other than by silence
  bool counted_on_ = false;  // the controller counts on our tasks: the lease may be renewed
  bool reported_since_beat_ = false;
  int failures_ = 0;
  Random jitter_;
  std::map<std::string, std::string> step_relays_;  // step ("7.1.0") to its relay's id
  std::function<void(bool over)> stopped_;          // set while stopping everything
  wire::Timer stop_timer_;
  wire::Timer flush_timer_;
  wire::Timer started_timer_;
  wire::Timer reconnect_timer_;
  wire::Timer heartbeat_timer_;
  wire::Timer silence_timer_;
  wire::Timer lease_timer_;
  wire::Timer certificate_timer_;
  std::map<AttemptKey, wire::Timer> secret_timers_;
};

}  // namespace dove::agent
