// What random damage does to an agent's directory, which holds a task that runs, attempts that have
// ended, one that waits for its start, its identity, its contact and what plug-ins gave it: the
// agent does not start, and names the file, or it says of its work nothing that is not so.
// DOVE_DAMAGES says how many (make test-corruption: 2000), DOVE_SEED which.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "agent/attempts/agent_damage_fixture.h"
#include "agent/session/lease.h"
#include "agent/tasks/process_sweep.h"
#include "agent/tasks/shim_handle.h"
#include "agent/tasks/shim_status.h"
#include "base/apart_for_test.h"
#include "codec/json.h"
#include "telemetry/log.h"
#include "wire/tls/authority.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

std::string order_of(AttemptKey key, const std::string& script, bool barrier) {
  ExecSpec exec;
  exec.command = {"/bin/sh", "-c", script};
  exec.environment = {{"PATH", "/usr/bin:/bin"}};
  Placement placement;
  placement.node = NodeId(1);
  placement.tasks.emplace_back();
  if (key == kLive) placement.countables = {{kDamagedUnits, 2}};
  const Json peer{{"node", "n1"}, {"address", "127.0.0.1"}, {"node_rank", 0}, {"ranks", {0}}};
  return Json{{"seq", 11},
              {"epoch", 5},
              {"order", "launch"},
              {"job", key.job.value},
              {"attempt", key.attempt},
              {"barrier", barrier},
              {"placement", codec::placement_json(placement)},
              {"placements", Json::array({peer})},
              {"spec", {{"name", "j"}, {"launch", "each_task"}, {"tasks", 1}}},
              {"exec", Json::parse(codec::encode_exec(exec))}}
      .dump();
}

LaunchOrder read_order_of(const std::string& text) {
  Result<LaunchOrder> order = read_launch_order(Json::parse(text), /*has_network=*/true);
  EXPECT_TRUE(order.ok());
  return std::move(order).value();
}

class AgentDamage : public ::testing::Test {
 protected:
  AgentDamage() : node_("damaged-" + std::to_string(::getpid())), mark_(node_ + ".2.1.r0") {
    std::string pattern = ::testing::TempDir() + "agent-damage.XXXXXX";
    root_ = mkdtemp(pattern.data());
    telemetry::set_level(telemetry::Level::kError);
  }
  ~AgentDamage() override {
    sweep({{mark_, 0}}, 5s);
    fs::remove_all(root_);
  }

  std::string data() const { return root_ / "data"; }

  // A node's work, as it is when its agent is killed.
  void work() {
    DamagedLife life(data(), node_, authority_.digest());
    const Result<void> opened = life.open();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    join(life);
    ASSERT_EQ(life.give_units(kLive, 2).size(), 2u);
    const fs::path go = root_ / "go";
    const std::string waits =
        fmt::format("while [ ! -e {} ]; do sleep 0.01; done; exit ", go.string());
    launch(life, kEndedKey, waits + "3", false);
    launch(life, kFinished, waits + "4", false);
    launch(life, kWaits, "exit 5", true);
    launch(life, kLive, "exec sleep 1000", true);
    ASSERT_TRUE(life.until([&] { return life.held(kLive)->stage() == Stage::kPrepared; }));
    Placement place = life.held(kLive)->order().placement;
    place.cores.insert(1);
    place.tasks.front().cores.insert(1);
    life.attempts->pass_barrier(kLive, place);
    ASSERT_TRUE(life.until([&] { return runs(life, kLive) && runs(life, kEndedKey); }));
    ASSERT_TRUE(life.until([&] { return life.held(kWaits)->stage() == Stage::kPrepared; }));
    fs::copy(data() + "/attempts", root_ / "earlier/attempts", fs::copy_options::recursive);
    for (const char* name : {"contact", "plug-ins", "agent_token"}) {
      fs::copy_file(data() + "/" + name, root_ / "earlier" / name);
    }
    std::ofstream(go) << "";
    life.contact->saw(6, 20, "proof-20");
    life.lease().renew(boottime_us() + 60'000'000);
    ASSERT_TRUE(life.until([&] { return ended(life, kEndedKey) && ended(life, kFinished); }));
    life.attempts->forget(kFinished);
    ASSERT_TRUE(fs::exists(data() + "/finished/4.1/record"));
  }
  void join(DamagedLife& life) {
    fs::create_directories(root_ / "earlier");
    life.contact->agreed(1'000'000, 2'000'000, 3'000'000);
    life.contact->saw(5, 10, "proof-10");
    life.contact->lives_in("boot-1");
    life.lease().renew(boottime_us() + 60'000'000);
    put_damage(data() + "/agent_token", "secret-1");
    const Json request = Json::parse(life.uplink().certificate_request().value());
    const std::string certificate =
        authority_
            .issue(request["request"].get<std::string>(), {.uri = "dove://c/node/" + node_,
                                                           .now_s = std::time(nullptr),
                                                           .valid_s = 24 * 3600})
            .value();
    const Result<void> taken =
        life.uplink().take({{"agents_port", 1U},
                            {"certificate", certificate},
                            {"authority", authority_.credentials().chain_pem}});
    ASSERT_TRUE(taken.ok()) << taken.error().message;
  }

  using Stage = ActiveAttempt::Stage;
  static void launch(DamagedLife& life, AttemptKey key, const std::string& script, bool barrier) {
    const std::string text = order_of(key, script, barrier);
    life.attempts->launch(read_order_of(text), text);
  }
  static bool runs(const DamagedLife& life, AttemptKey key) {
    return life.held(key)->started_us() != 0;
  }
  static bool ended(const DamagedLife& life, AttemptKey key) {
    return life.held(key)->stage() == Stage::kEnded;
  }

  // The task that runs, under a shim of this process's. Copies of the directory have its own file.
  void revive() {
    if (live_.pid() > 0 && !live_.reap(0)) return put_damage(live_path(), live_text_);
    fs::remove(live_path());
    ShimConfig config;
    config.argv = {"/bin/sh", "-c", "exec sleep 1000"};
    config.environment = {{"PATH", "/usr/bin:/bin"}};
    config.mark = mark_;
    config.workdir = root_;
    Result<ShimHandle> spawned = ShimHandle::spawn(config, live_path(), {DOVE_SHIM_PATH, -1});
    ASSERT_TRUE(spawned.ok()) << spawned.error().message;
    live_ = std::move(*spawned);
    const auto started = [&] {
      const auto seen = read_shim_started(live_path());
      return seen.ok() && seen->has_value() && processes_of({mark_}).size() == 1;
    };
    for (int i = 0; i < 20'000 && !started(); ++i) ::poll(nullptr, 0, 1);
    ASSERT_TRUE(started());
    live_text_ = damage_text(live_path());
  }
  std::string live_path() const { return root_ / "live.r0"; }

  std::string copy() {
    const std::string to = root_ / "copy";
    fs::remove_all(to);
    fs::remove(data() + "/channel");
    fs::copy(data(), to, fs::copy_options::recursive);
    fs::remove(to + "/attempts/2.1/task.r0");
    fs::create_hard_link(live_path(), to + "/attempts/2.1/task.r0");
    return to;
  }

  // What the directory says while it is whole.
  struct Whole {
    std::map<AttemptKey, protocol::ActivePlacement> told;
    std::map<AttemptKey, Placement> placements;
    std::map<AttemptKey, std::int64_t> started_us;
    std::string key_digest;
    std::int64_t lease_us = 0;
  };
  Whole whole(const std::string& directory) {
    Whole whole;
    DamagedLife life(directory, node_);
    EXPECT_TRUE(life.open().ok());
    EXPECT_TRUE(life.settle());
    whole.told = life.told();
    for (const auto& [key, attempt] : life.attempts->active()) {
      whole.placements[key] = attempt->order().placement;
      whole.started_us[key] = attempt->started_us();
    }
    whole.key_digest = life.uplink().key_digest().value();
    whole.lease_us = read_lease_us(directory + "/lease");
    return whole;
  }

  std::string wrong_work(DamagedLife& life, const Whole& whole) const {
    for (const auto& [key, told] : life.told()) {
      const auto known = whole.told.find(key);
      if (known == whole.told.end()) return key.text() + " was never here";
      const protocol::ActivePlacement& was = known->second;
      for (const TaskExit& exit : told.exits) {
        const bool is_known = std::count(was.exits.begin(), was.exits.end(), exit) > 0;
        // Neither says that the job did that.
        const bool is_lost = exit.cause == "shim_lost" || exit.cause == "agent_stopped";
        if (!is_known && !is_lost) return key.text() + " has another exit";
      }
      // What runs may have been ended, and is another one for each damage after that.
      const bool has_ended = key != kLive;
      if (has_ended && told.cpu_us != 0 && told.cpu_us != was.cpu_us) {
        return key.text() + " has other CPU time";
      }
      if (told.launch_failed != was.launch_failed) return key.text() + ": " + told.launch_failed;
    }
    for (const auto& [key, attempt] : life.attempts->active()) {
      // By the shim's clock or by that of the agent, which heard of it a moment later.
      const std::int64_t started_us = attempt->started_us();
      const std::int64_t off_us = started_us - whole.started_us.at(key);
      if (key != kLive && started_us != 0 && std::abs(off_us) > 1'000'000) {
        return key.text() + " has another start";
      }
      if (attempt->order().placement.tasks.empty()) continue;  // it is unknown
      const std::string record = damage_text(attempt->directory() + "/record");
      const bool is_formers = record.find("order_digest") == record.npos;  // cut to look like one
      if (!attempt->order().has_network && !is_formers) return key.text() + " lost its network";
      Placement order = whole.placements.at(key);
      const bool is_final = attempt->order().placement == order;
      order.cores = {};
      order.tasks.front().cores = {};
      if (!is_final && !(attempt->order().placement == order)) return key.text() + " is elsewhere";
    }
    return "";
  }

  // One of its tasks runs: it is held as such until it is gone, and none is started beside it.
  std::string wrong_life(const DamagedLife& life) const {
    const std::size_t count = processes_of({mark_}).size();
    const ActiveAttempt* const held = life.held(kLive);
    if (count > 1) return "it runs twice";
    if (count == 0) return "";
    if (held == nullptr) return "it runs, and nobody knows of it";
    if (held->stage() == Stage::kEnded) return "it runs, and is told to have ended";
    return held->stage() == Stage::kStarted ? "" : "it runs, and would be started again";
  }

  std::string verdict(const std::string& directory, const Whole& whole, bool lost_key) {
    DamagedLife life(directory, node_);
    const Result<void> opened = life.open();
    if (!opened.ok()) {
      const bool is_named = opened.error().message.find(directory) != std::string::npos;
      return is_named ? "" : "refused without a place: " + opened.error().message;
    }
    std::string said = wrong_life(life);
    if (!said.empty()) return said;
    if (!life.settle()) return "it does not end what it does not know";
    for (const std::string& found : {wrong_life(life), wrong_work(life, whole)}) {
      if (!found.empty()) return found;
    }
    const Contact& contact = *life.contact;
    const std::pair seen(contact.epoch(), contact.log_head());
    if (seen != std::pair<std::uint64_t, std::uint64_t>() && seen != std::pair(5ul, 10ul) &&
        seen != std::pair(6ul, 20ul)) {
      return "it met a controller that never was";
    }
    if (read_lease_us(directory + "/lease") > whole.lease_us) return "its lease is longer";
    if (life.uplink().authority_path().empty()) return "it believes the system's authorities";
    const Result<std::string> key = life.uplink().key_digest();
    if (key.ok() && *key != whole.key_digest && !lost_key) return "it has another key";
    for (const std::string& unit : life.give_units(kOther, 1)) {
      if (life.attempts->lives(kLive) && unit != "c") return "unit " + unit + " is given twice";
    }
    return "";
  }

  const wire::Authority authority_ = wire::Authority::make("test", std::time(nullptr));
  const std::string node_;
  const std::string mark_;
  fs::path root_;
  ShimHandle live_;
  std::string live_text_;
};

TEST_F(AgentDamage, IsFoundOrHealedAndNeverTaken) {
  const std::uint64_t seed = files::damage_seed();
  const std::uint64_t count = damage_number("DOVE_DAMAGES", 60);
  SCOPED_TRACE("DOVE_SEED=" + std::to_string(seed));
  ASSERT_NO_FATAL_FAILURE(work());
  sweep({{mark_, 0}}, 5s);
  ASSERT_NO_FATAL_FAILURE(revive());
  const Whole kept = whole(copy());
  ASSERT_EQ(kept.told.size(), 4u);
  ASSERT_EQ(verdict(copy(), kept, false), "") << "where nothing is damaged";
  files::Damager damager(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_NO_FATAL_FAILURE(revive());
    const std::string directory = copy();
    const std::string how = damager.below(7) == 0 ? damager.exchange(directory)
                                                  : damager.damage(directory, root_ / "earlier");
    const bool lost_key = how.ends_with(" agent_key.pem");
    const std::string said = apart([&] { return verdict(directory, kept, lost_key); });
    EXPECT_EQ(said, "") << "damage " << i << ", " << how;
  }
  fmt::print("{} damages to an agent's files, seed {}: none taken\n", count, seed);
}

}  // namespace
}  // namespace dove::agent
