// What the test of damaged agents' directories shares: who damages, and what an agent opens. For
// tests only.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "agent/attempts/attempts.h"
#include "agent/devices/device_allocator.h"
#include "agent/session/contact.h"
#include "agent/session/lease.h"
#include "agent/tasks/process_runner.h"

namespace dove::agent {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

inline constexpr char kDamagedUnits[] = "net/hca";
inline constexpr AttemptKey kEndedKey{JobId(1), 1};
inline constexpr AttemptKey kLive{JobId(2), 1};
inline constexpr AttemptKey kWaits{JobId(3), 1};
inline constexpr AttemptKey kFinished{JobId(4), 1};
inline constexpr AttemptKey kOther{JobId(9), 1};

inline std::uint64_t damage_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

inline std::string damage_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In its place: whoever has it locked has it locked still.
inline void put_damage(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

class AgentDamager {
 public:
  explicit AgentDamager(std::uint64_t seed) : random_(seed) {}

  // Changes one file of the directory, or two, and says how.
  std::string damage(const fs::path& directory, const fs::path& earlier) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    const fs::path file = files[below(files.size())];
    const fs::path other = files[below(files.size())];
    const fs::path name = file.lexically_relative(directory);
    if (below(7) == 0) {
      fs::rename(file, directory / "aside");
      if (other != file) fs::rename(other, file);
      fs::rename(directory / "aside", other);
      return fmt::format("{} and {} exchanged", name.string(),
                         other.lexically_relative(directory).string());
    }
    return change(file, earlier / name) + " " + name.string();
  }

 private:
  std::size_t below(std::size_t most) { return random_() % most; }

  std::string change(const fs::path& file, const fs::path& of_earlier) {
    std::string text = damage_text(file);
    const std::size_t at = below(text.size());
    const std::size_t page = at / 4096 * 4096;
    switch (below(6)) {
      case 0:
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        put_damage(file, text);
        return fmt::format("bit at {} of", at);
      case 2:
        put_damage(file, text.substr(0, at));
        return fmt::format("cut at {}:", at);
      case 3:
        std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(page),
                    std::min<std::size_t>(4096, text.size() - page), '\0');
        put_damage(file, text);
        return fmt::format("zeros at {} of", page);
      case 4:
        if (!fs::exists(of_earlier)) break;
        put_damage(file, damage_text(of_earlier));
        return "an earlier";
      default:
        break;
    }
    if (below(2) == 0) {
      put_damage(file, "");
      return "emptied";
    }
    fs::remove(file);
    return "without";
  }

  std::mt19937_64 random_;
};

// What an agent opens in its directory when it starts.
class DamagedLife {
 public:
  DamagedLife(std::string directory, const std::string& node)
      : data(std::move(directory)),
        uplink_(loop, {node, data, {{true, "127.0.0.1", 1, ""}}, "", ""}),
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
