// What the test of damaged agents' directories opens, as an agent does. For tests only.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/attempts/attempts.h"
#include "agent/devices/device_allocator.h"
#include "agent/session/contact.h"
#include "agent/session/lease.h"
#include "agent/tasks/process_runner.h"
#include "files/damager_for_test.h"

namespace dove::agent {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

inline constexpr char kDamagedUnits[] = "net/hca";
inline constexpr AttemptKey kEndedKey{JobId(1), 1};
inline constexpr AttemptKey kLive{JobId(2), 1};
inline constexpr AttemptKey kWaits{JobId(3), 1};
inline constexpr AttemptKey kFinished{JobId(4), 1};
inline constexpr AttemptKey kOther{JobId(9), 1};

using files::damage_number;
using files::damage_text;
using files::put_damage;

// What an agent opens in its directory when it starts.
class DamagedLife {
 public:
  // `digest`: that the join token names.
  DamagedLife(std::string directory, const std::string& node, const std::string& digest = "")
      : data(std::move(directory)),
        uplink_(loop, {node, data, {{true, "127.0.0.1", 1, ""}}, "", digest}),
        streams_(loop, uplink_, node) {
    facts_.node = node;
    fs::create_directories(data + "/attempts");
    fs::create_directories(data + "/finished");
  }
  ~DamagedLife() { attempts.reset(); }

  Result<void> open() {
    TRY_ASSIGN(Contact read, Contact::open(data + "/contact", 0s));
    contact.emplace(std::move(read));
    TRY_ASSIGN(LeaseWriter lease, LeaseWriter::open(data + "/lease"));
    lease_.emplace(std::move(lease));
    TRY(uplink_.open());
    TRY_ASSIGN(runner_, ProcessRunner::make(loop, {DOVE_SHIM_PATH, data, false, "", false}));
    Attempts::Options options;
    options.data_dir = data;
    options.mapped_users = false;
    attempts = std::make_unique<Attempts>(loop, options, facts_, *runner_, side_, streams_,
                                          secrets_, reports_);
    attempts->load();
    return {};
  }
  // Until nothing changes by itself any more.
  bool settle() {
    return until([&] {
      return std::none_of(attempts->active().begin(), attempts->active().end(), [](auto& entry) {
        return entry.second->runs() && (entry.second->stopping() || entry.first != kLive);
      });
    });
  }
  bool until(const std::function<bool()>& done) {
    std::function<void()> tick = [&] { ticker_ = loop.after(1ms, [&tick] { tick(); }); };
    tick();
    const bool held = loop.run_until(done, 20s);
    ticker_.cancel();
    return held;
  }
  const ActiveAttempt* held(AttemptKey key) const {
    const auto found = attempts->active().find(key);
    return found == attempts->active().end() ? nullptr : found->second.get();
  }
  std::map<AttemptKey, protocol::ActivePlacement> told() const {
    protocol::Sync sync;
    attempts->describe(sync, true);
    std::map<AttemptKey, protocol::ActivePlacement> by_key;
    for (const auto& placement : sync.placements) by_key[placement.key] = placement;
    return by_key;
  }
  DeviceAllocator::Plugins plugins() {
    DeviceAllocator::Plugins plugins;
    plugins.resource_of = [](const std::string&) { return ""; };
    plugins.units = [](const std::string& resource, const Placement&) {
      using Some = std::optional<std::vector<std::string>>;
      return resource == kDamagedUnits ? Some({"a", "b", "c"}) : Some();
    };
    plugins.ask_units = [](const std::string&, const std::vector<std::string>& ids,
                           const DeviceAllocator::Done& done) {
      DeviceEdits edits;
      edits.edits.environment = {{"HCA", ids.front()}};
      done(edits);
    };
    plugins.holders = [this] {
      std::map<AttemptKey, const Placement*> holders;
      for (const ActiveAttempt* attempt : attempts->living()) {
        holders[attempt->order().key] = &attempt->order().placement;
      }
      return holders;
    };
    return plugins;
  }
  // Which units this attempt gets; none where it is refused.
  std::vector<std::string> give_units(AttemptKey key, std::int64_t amount) {
    DeviceAllocator allocator(plugins(), data + "/plug-ins");
    Placement placement;
    placement.countables = {{kDamagedUnits, amount}};
    allocator.allocate(key, placement, Inventory(), [](const Result<void>&) {});
    const std::vector<std::string>* units = allocator.units_of(key, kDamagedUnits);
    return units == nullptr ? std::vector<std::string>() : *units;
  }
  Uplink& uplink() { return uplink_; }
  LeaseWriter& lease() { return *lease_; }

  const std::string data;
  wire::Loop loop;
  std::optional<Contact> contact;
  std::unique_ptr<Attempts> attempts;

 private:
  ReportQueue::Host host() {
    ReportQueue::Host host;
    host.has_news = [] { return false; };
    host.send = [](std::uint64_t, const std::vector<protocol::Report>&) {};
    return host;
  }

  wire::Timer ticker_;
  AgentFacts facts_;
  std::optional<LeaseWriter> lease_;
  SideThreads side_{loop, 4};
  Uplink uplink_;
  TaskStreams streams_;
  SecretRequests secrets_{loop, uplink_, [] { return false; }};
  ReportQueue reports_{loop, host()};
  std::unique_ptr<ProcessRunner> runner_;
};

}  // namespace dove::agent
