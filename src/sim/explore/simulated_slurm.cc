#include "sim/explore/simulated_slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "codec/json.h"
#include "wire/secret.h"

namespace dove::sim {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kHour_us = 3'600 * kSecond_us;
constexpr const char* kToken = "explored-adapter-token";
constexpr const char* kAccount = "slurm-1";

}  // namespace

SimulatedSlurm::SimulatedSlurm(Agenda& agenda, Network& network, Oracle& oracle,
                               SimulatedSlurmOptions options)
    : agenda_(agenda),
      oracle_(oracle),
      options_(std::move(options)),
      random_(options_.seed),
      process_(network, host_),
      loop_(process_),
      client_(loop_, "controller", 1),
      taken_(options_.nodes.size(),
             std::vector<bool>(static_cast<std::size_t>(options_.gpus_per_node))) {
  host_.name = "slurm";
}

std::vector<std::vector<StampedEvent>> SimulatedSlurm::declared() const {
  if (options_.nodes.empty()) return {};
  UserDeclaration account;
  account.name = kAccount;
  account.token_sha256 = wire::sha256_hex(kToken);
  const Executor executor{"slurm", kAccount, options_.nodes, true, {}};
  return {{{ObjectApplied{Declared(account)}, {}}}, {{ObjectApplied{Declared(executor)}, {}}}};
}

void SimulatedSlurm::start() {
  if (options_.nodes.empty()) return;
  next_job();
  call_in(kSecond_us);
  if (options_.faults_percent == 0) return;
  agenda_.in(some(6 * kHour_us), [this] { restart(); });
  agenda_.in(some(12 * kHour_us), [this] { fall_mute(); });
}

// -- the scheduler -------------------------------------------------------------------------------

std::size_t SimulatedSlurm::index_of(const std::string& node) const {
  const auto at = std::find(options_.nodes.begin(), options_.nodes.end(), node);
  return static_cast<std::size_t>(at - options_.nodes.begin());
}

bool SimulatedSlurm::is_free(std::size_t node, const std::vector<std::int32_t>& devices) const {
  return std::none_of(devices.begin(), devices.end(), [&](std::int32_t device) {
    return taken_[node][static_cast<std::size_t>(device)];
  });
}

void SimulatedSlurm::take(std::size_t node, const std::vector<std::int32_t>& devices, bool taken) {
  for (const std::int32_t device : devices) taken_[node][static_cast<std::size_t>(device)] = taken;
}

// A job every few minutes, so that most of our launches meet one.
void SimulatedSlurm::next_job() {
  if (stopped_) return;
  begin_job();
  agenda_.in(some(kHour_us / 4), [this] { next_job(); });
}

void SimulatedSlurm::begin_job() {
  const std::size_t node = random_.below(options_.nodes.size());
  const std::size_t wanted = 1 + random_.below(3);
  Job job;
  job.node = node;
  for (std::size_t device = 0; device < taken_[node].size(); ++device) {
    if (job.devices.size() < wanted && !taken_[node][device]) {
      job.devices.push_back(static_cast<std::int32_t>(device));
    }
  }
  if (job.devices.size() < wanted) return;
  const std::uint64_t id = ++ids_;
  ++jobs_begun_;
  take(node, job.devices, true);
  for (const std::int32_t device : job.devices) {
    oracle_.foreign_started(static_cast<std::uint32_t>(node + 1), device, id);
  }
  jobs_[id] = std::move(job);
  agenda_.in(some(2 * kHour_us), [this, id] { end_job(id); });
}

void SimulatedSlurm::end_job(std::uint64_t id) {
  const Job& job = jobs_.at(id);
  take(job.node, job.devices, false);
  for (const std::int32_t device : job.devices) {
    oracle_.foreign_over(static_cast<std::uint32_t>(job.node + 1), device);
  }
  jobs_.erase(id);
}

void SimulatedSlurm::ask(const Key& key, std::vector<std::int32_t> devices) {
  Placeholder& made = placeholders_[key];
  made.id = std::to_string(++ids_);
  made.devices = std::move(devices);
  agenda_.in(some(20 * kSecond_us), [this, key, id = made.id] { decide(key, id); });
}

// It waits for what others hold, or says at once that it is not to be had.
void SimulatedSlurm::decide(const Key& key, const std::string& id) {
  const auto found = placeholders_.find(key);
  if (found == placeholders_.end() || found->second.id != id) return;
  Placeholder& it = found->second;
  if (it.state != "asked") return;
  const std::size_t node = index_of(std::get<2>(key));
  if (is_free(node, it.devices)) {
    take(node, it.devices, true);
    it.state = "confirmed";
    ++given_;
  } else if (random_.below(2) == 0) {
    it.state = "refused";
  } else {
    agenda_.in(some(60 * kSecond_us), [this, key, id] { decide(key, id); });
  }
}

void SimulatedSlurm::release(const Key& key) {
  const auto found = placeholders_.find(key);
  if (found->second.state == "confirmed") {
    take(index_of(std::get<2>(key)), found->second.devices, false);
  }
  placeholders_.erase(found);
}

// -- its adapter ---------------------------------------------------------------------------------

void SimulatedSlurm::call_in(std::int64_t delay_us) {
  agenda_.in(delay_us, [this, planned = ++calls_] {
    if (planned == calls_) call();
  });
}

std::string SimulatedSlurm::body() {
  const bool mute = agenda_.now_us() < mute_until_us_;
  Json allocations = Json::array();
  Json placeholders = Json::array();
  for (const auto& [id, job] : jobs_) {
    if (mute) break;
    allocations.push_back({{"id", std::to_string(id)},
                           {"node", options_.nodes[job.node]},
                           {"devices", job.devices},
                           {"user", "grace"}});
  }
  for (const auto& [key, one] : placeholders_) {
    if (mute) break;
    placeholders.push_back({{"job", std::get<0>(key)},
                            {"attempt", std::get<1>(key)},
                            {"node", std::get<2>(key)},
                            {"id", one.id},
                            {"state", one.state},
                            {"devices", one.devices}});
  }
  return Json{{"incarnation", fmt::format("adapter-{}", incarnation_)},
              {"number", ++number_},
              {"seen", seen_},
              {"wait_s", 60},
              {"complete", !mute},
              {"allocations", std::move(allocations)},
              {"placeholders", std::move(placeholders)}}
      .dump();
}

void SimulatedSlurm::call() {
  wire::Request request;
  request.method = "POST";
  request.target = "/v1/executors/slurm/sync";
  request.headers = {{"Authorization", std::string("Bearer ") + kToken}};
  request.body = body();
  client_.call(std::move(request), [this, incarnation = incarnation_,
                                    number = number_](const Result<wire::Response>& answer) {
    if (incarnation == incarnation_) answered(number, answer);
  });
  call_in(180 * kSecond_us);  // unless it is answered
}

// An answer that another call has overtaken is not obeyed.
void SimulatedSlurm::answered(std::uint64_t number, const Result<wire::Response>& answer) {
  if (number != number_) return;
  if (!answer.ok() || answer->status != 200) return call_in(some(10 * kSecond_us));
  const Json told = Json::parse(answer->body);
  seen_ = told.at("version").get<std::uint64_t>();
  std::set<Key> wanted;
  for (const Json& one : told.at("wanted")) {
    const Key key{one.at("job").get<std::uint64_t>(), one.at("attempt").get<std::uint32_t>(),
                  one.at("node").get<std::string>()};
    wanted.insert(key);
    if (!placeholders_.contains(key)) ask(key, one.at("devices").get<std::vector<std::int32_t>>());
  }
  std::vector<Key> held;
  for (const auto& [key, one] : placeholders_) held.push_back(key);
  for (const Key& key : held) {
    if (!wanted.contains(key)) release(key);
  }
  call_in(some(5 * kSecond_us));
}

// The next one finds in the scheduler what is held there.
void SimulatedSlurm::restart() {
  if (stopped_) return;
  ++incarnation_;
  number_ = 0;
  seen_ = 0;
  call_in(some(30 * kSecond_us));
  agenda_.in(some(6 * kHour_us), [this] { restart(); });
}

void SimulatedSlurm::fall_mute() {
  if (stopped_) return;
  mute_until_us_ = agenda_.now_us() + some(600 * kSecond_us);
  agenda_.in(some(12 * kHour_us), [this] { fall_mute(); });
}

}  // namespace dove::sim
