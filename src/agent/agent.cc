#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/attempts/watched.h"
#include "agent/devices/direct_storage.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

// Each attempt has at most one. This many may hang before others wait for one.
constexpr std::size_t kSideThreads = 128;

std::vector<wire::ServerUrl> controllers(const AgentOptions& options) {
  std::vector<wire::ServerUrl> all = {{options.tls, options.host, options.port, ""}};
  const auto& others = options.other_controllers;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

AgentFacts facts_of(const AgentOptions& options) {
  AgentFacts facts;
  facts.node = options.name;
  for (const wire::ServerUrl& url : controllers(options)) {
    facts.url +=
        fmt::format("{}{}://{}", facts.url.empty() ? "" : ",", url.secure ? "https" : "http",
                    wire::Address{url.host, url.port}.text());
  }
  facts.networks = options.networks;
  if (options.network_offer) {
    facts.network_shortfall = [offer = options.network_offer] { return offer().shortfall; };
  }
  facts.bin_directory = options.bin_directory;
  facts.python_directory = options.python_directory;
  facts.stage_directory = options.stage_directory;
  facts.progress_directory = options.data_dir + "/progress";
  facts.shared_directory = options.shared_directory;
  facts.planes = options.planes;
  facts.shares = options.shares;
  return facts;
}

SessionOptions session_options(const AgentOptions& options) {
  SessionOptions out;
  out.node = options.name;
  out.address = options.address;
  out.boot_id = options.boot_id;
  out.version = options.version;
  out.machine_id = options.machine_id;
  out.data_dir = options.data_dir;
  out.join_token = options.join_token;
  out.former_wait = options.former_wait;
  out.stream_silence_us = options.stream_silence_us;
  out.stream_open_us = options.stream_open_us;
  out.wall_us = options.wall_us;
  return out;
}

// Where an agent keeps something over its restarts; "": nowhere.
std::string kept_at(const AgentOptions& options, const char* name) {
  return options.keeps_records ? options.data_dir + "/" + name : "";
}

}  // namespace

Agent::Agent(wire::Loop& loop, AgentOptions options, Inventory inventory, Runner& runner)
    : loop_(loop),
      options_(std::move(options)),
      machine_(std::move(inventory)),
      node_(machine_, {options_.not_enforced, options_.offer,
                       options_.networks != NetworkRule::kHost, options_.network_offer}),
      side_(loop, kSideThreads),
      facts_(facts_of(options_)),
      uplink_(loop, {options_.name, options_.data_dir, controllers(options_), options_.ca_file,
                     options_.authority_digest}),
      session_(loop, session_options(options_), uplink_, node_, options_.renew_lease,
               session_host()),
      streams_(loop, uplink_, options_.name),
      secrets_(loop, uplink_, [this] { return session_.connected(); }),
      attempts_(loop,
                {options_.data_dir, options_.keeps_records, options_.mapped_users,
                 options_.output_rotate_bytes, options_.needs_limit},
                facts_, runner, side_, streams_, secrets_, session_.reports()),
      cutter_(options_.arrange, kept_at(options_, "slices")),
      allocator_(plugins(), kept_at(options_, "plug-ins")),
      preflights_(loop, uplink_, node_.inventory(),
                  {options_.name, options_.address, options_.shared_directory, options_.preflight,
                   beside()}),
      pipeline_(cutter_, allocator_, node_.inventory(), pipeline_host()) {
  facts_.inventory = &node_.inventory();
  facts_.slices = &cutter_.slices();
  facts_.device_files = &device_files_;
  facts_.fabric = &fabric_;
  facts_.allocator = &allocator_;
}

Agent::~Agent() = default;

Aside Agent::beside() {
  return [this](const std::string& lane, std::chrono::milliseconds limit,
                std::function<void()> work, std::function<void(bool)> done) {
    side_.run(lane, limit, std::move(work), std::move(done));
  };
}

DeviceAllocator::Plugins Agent::plugins() {
  DeviceAllocator::Plugins plugins = options_.plugins;
  // The cards of the fabric are given out as a plug-in's units are, unless a plug-in brings some.
  plugins.units = [this, more = plugins.units](const std::string& resource,
                                               const Placement& placement) {
    auto units = more ? more(resource, placement) : std::nullopt;
    if (!units && resource == kCards && counts_cards()) {
      units = cards_by_distance(fabric_, options_.planes, node_.inventory(), placement.devices);
    }
    return units;
  };
  plugins.ask_units = [this, more = plugins.ask_units](const std::string& resource,
                                                       std::vector<std::string> ids,
                                                       DeviceAllocator::Done done) {
    if (resource != kCards || !counts_cards()) {
      return more(resource, std::move(ids), std::move(done));
    }
    loop_.post([done = std::move(done)] { done(DeviceEdits{}); });  // nobody is to be asked
  };
  if (plugins.is_here) {
    plugins.is_here = [this, more = plugins.is_here](const std::string& resource) {
      return (resource == kCards && counts_cards()) || more(resource);
    };
  }
  plugins.holders = [this] {
    std::map<AttemptKey, const Placement*> holders;
    for (const ActiveAttempt* attempt : attempts_.living()) {
      holders[attempt->order().key] = &attempt->order().placement;
    }
    return holders;
  };
  plugins.after = [this](std::chrono::milliseconds wait, std::function<void()> call) {
    return loop_.after(wait, std::move(call));
  };
  return plugins;
}

Session::Host Agent::session_host() {
  Session::Host host;
  host.held = [this](protocol::Sync& sync, bool brings_ends) {
    sync.preflight_port = preflights_.port();
    attempts_.describe(sync, brings_ends);
  };
  host.placements_hash = [this] { return attempts_.placements_hash(pipeline_.counted()); };
  host.order = [this](const protocol::Order& order, const nlohmann::json& line, std::string text) {
    take_order(order, line, std::move(text));
  };
  host.control = [this](const protocol::Control& line) { take_control(line); };
  host.opened = [this](const std::string& cluster_id) {
    facts_.cluster_id = cluster_id;
    telemetry::log(telemetry::Level::kInfo, "connected",
                   {{"node", options_.name}, {"attempts", attempts_.active().size()}});
  };
  host.began = [this] {
    attempts_.session_began();
    if (progress_ != nullptr) progress_->repeat();
  };
  host.ended = [this] { streams_.clear(); };
  host.certified = [this] { certified(); };
  host.found = [this](Finding finding) { found(std::move(finding)); };
  host.join_refused = options_.join_refused;
  return host;
}

LaunchPipeline::Host Agent::pipeline_host() {
  LaunchPipeline::Host host;
  host.preflight = [this](const LaunchOrder& order, Preflights::Done done) {
    return preflights_.begin(order, std::move(done));
  };
  host.held = [this] {
    std::vector<const Placement*> placements;
    for (const ActiveAttempt* attempt : attempts_.living()) {
      placements.push_back(&attempt->order().placement);
    }
    return placements;
  };
  host.hold = [this](LaunchOrder order, const std::string& text) {
    attempts_.launch(std::move(order), text);
  };
  host.report = [this](protocol::Report said) { session_.reports().add(std::move(said)); };
  return host;
}

Result<void> Agent::make_directories() {
  std::error_code error;
  fs::create_directories(options_.data_dir + "/attempts", error);
  fs::create_directories(options_.data_dir + "/finished", error);
  if (error) {
    return Error{ErrorKind::kInvalid, "data_dir",
                 fmt::format("{}: {}; give the agent a directory of its own with --data",
                             options_.data_dir, error.message()),
                 ""};
  }
  if (options_.mapped_users) {  // tasks pass through to what is theirs
    for (const std::string& path : {options_.data_dir, options_.data_dir + "/attempts"}) {
      fs::permissions(path, fs::perms::others_exec, fs::perm_options::add, error);
    }
  }
  return {};
}

Result<void> Agent::start() {
  TRY(make_directories());
  TRY(session_.open());
  facts_.authority_path = uplink_.authority_path();
  if (options_.keeps_records) {
    const std::string finished = options_.data_dir + "/finished";
    std::error_code error;
    fs::permissions(finished, fs::perms::owner_all, error);
    finished_.emplace(loop_, finished, options_.finished);
    finished_->start();
    facts_.secrets_place = secrets_place(options_.data_dir, options_.memory_directory);
  }
  // Before the first sync, which says what is here: the controller takes what is missing for gone.
  attempts_.load();
  watch();
  // With TLS there is nothing to show yet: see certified().
  if (options_.has_ring && !uplink_.secure()) preflights_.listen();
  look_at_networks();
  session_.begin();
  return {};
}

// What watches progress and use says nothing without a session: what comes next says it all again.
void Agent::watch() {
  HealthOptions health = options_.health;
  health.aside = beside();
  health_ = std::make_unique<Health>(loop_, std::move(health), [this](protocol::Report said) {
    session_.reports().add(std::move(said));
  });
  if (options_.watches_health) health_->start();
  if (!options_.keeps_records) return;
  if (options_.progress_every.count() > 0) {
    progress_ = std::make_unique<ProgressWatch>(
        loop_, facts_.progress_directory, options_.progress_every,
        [this] { return watched_progress(attempts_); },
        [this](protocol::Progress said) {
          if (connected()) session_.reports().add(std::move(said));
        });
    progress_->start(options_.mapped_users);
    attempts_.before_ends([this](AttemptKey key) { progress_->last_words(key); });
  }
  use_ = std::make_unique<UseWatch>(UseWatch::Host{
      [this] { return watched_use(attempts_, options_.name, inventory()); },
      [this] { return loop_.monotonic_us(); }, [this] { return loop_.wall_us(); },
      [this](const std::string& lane, std::function<void()> work, std::function<void()> done) {
        side_.run(lane, std::move(work), std::move(done));
      },
      [this](protocol::Use said) {
        if (connected()) session_.reports().add(said);
      }});
}

void Agent::take_order(const protocol::Order& order, const nlohmann::json& line, std::string text) {
  switch (order.kind) {
    case protocol::OrderKind::kLaunch:
      if (attempts_.repeat(order.key)) return;
      pipeline_.launch(order.key, line, std::move(text), node_.offers_networks());
      return;
    case protocol::OrderKind::kStart:
      attempts_.pass_barrier(order.key, order.placement);
      return;
    case protocol::OrderKind::kStop:
      // Wherever it is: on its way it is dropped, and `stop` says that nothing of it is here.
      pipeline_.drop(order.key);
      attempts_.stop(order.key, order.reason == "preempted",
                     std::chrono::milliseconds(order.after_ms));
      return;
    case protocol::OrderKind::kTest:
      health_->test();
      return;
    case protocol::OrderKind::kRemedy:
      health_->remedy(order.remedy);
      return;
  }
}

void Agent::take_control(const protocol::Control& line) {
  for (const AttemptKey key : line.forget) attempts_.forget(key);
  if (line.signal.has_value()) attempts_.signal(*line.signal);
  if (line.step.has_value()) attempts_.start_step(*line.step);
  if (line.step_attach.has_value()) attempts_.attach_step(*line.step_attach);
  if (line.exec.has_value()) attempts_.exec(*line.exec);
  if (line.forward.has_value()) attempts_.forward(*line.forward);
  if (line.relay.has_value()) streams_.open(line.relay->id, attempts_.output(*line.relay));
  if (line.relay_end.has_value()) streams_.close(line.relay_end->id);
}

void Agent::stop_all(std::function<void(bool over)> done) {
  session_.stop();
  secrets_.stop();
  pipeline_.drop_all();
  attempts_.stop_all(std::move(done));
}

void Agent::found(Finding finding) {
  if (health_ != nullptr) health_->found(std::move(finding));
}

void Agent::saw(const std::vector<devices::DeviceSample>& samples) {
  if (use_ != nullptr) use_->saw(samples);
  preflights_.saw(samples);
}

bool Agent::counts_cards() const {
  return std::none_of(machine_.countables.begin(), machine_.countables.end(),
                      [](const Countable& one) { return one.name == kCards; });
}

// What is in the machine, and the cards that gangs may have.
Inventory Agent::whole_inventory() const {
  Inventory whole = machine_;
  const auto cards =
      static_cast<std::int64_t>(cards_by_distance(fabric_, options_.planes, machine_, {}).size());
  if (cards == 0 || !counts_cards()) return whole;
  const auto at =
      std::lower_bound(whole.countables.begin(), whole.countables.end(), kCards,
                       [](const Countable& one, std::string_view name) { return one.name < name; });
  whole.countables.insert(at, {std::string(kCards), cards});
  return whole;
}

void Agent::set_inventory(Inventory inventory) {
  machine_ = std::move(inventory);
  look_at_inventory();
}

void Agent::look_at_inventory() {
  if (node_.set_inventory(whole_inventory())) session_.reports().flush();
  allocator_.look(node_.inventory());
  look_at_networks();
}

void Agent::set_offer(TaskOffer offer) {
  if (node_.set_offer(std::move(offer))) session_.reports().flush();
}

void Agent::set_fabric(devices::Fabric fabric) {
  fabric_ = std::move(fabric);
  look_at_inventory();
  const std::string text = cufile_config(fabric_, options_.planes, addresses_of);
  if (text == cufile_text_ || !options_.keeps_records) return;
  Result<std::string> written = write_cufile_config(options_.data_dir + "/cufile.json", text);
  if (!written.ok()) {
    telemetry::log(telemetry::Level::kWarning, "cufile", {{"why", written.error().message}});
    return;
  }
  cufile_text_ = text;
  facts_.cufile = *written;
}

void Agent::look_at_networks() {
  const bool is_news = node_.look_at_networks(/*has_cards=*/!fabric_.cards.empty());
  facts_.gang_url = node_.gang_url();
  if (is_news) session_.reports().flush();
}

// What this node answers itself: first of all now, as there was nothing to show before.
void Agent::certified() {
  facts_.authority_path = uplink_.authority_path();
  if (options_.has_ring) preflights_.listen();
  const auto listen = std::exchange(once_certified_, nullptr);
  if (!listen) return;
  const auto serving = uplink_.serving(Uplink::Callers::kAnybody);
  const Result<void> listens = serving.ok() ? listen(*serving) : Result<void>(serving.error());
  if (listens.ok()) return;
  telemetry::log(telemetry::Level::kError, "no_metrics", {{"why", listens.error().message}});
}

}  // namespace dove::agent
