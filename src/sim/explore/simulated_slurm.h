// SimulatedSlurm: a scheduler that gives devices of some nodes to jobs of its own, with an adapter
// that speaks for it as docs/decisions/0018-executors.md has it.
//
// The scheduler gives a device to one job or placeholder at a time, and keeps its word. Its adapter
// is killed now and then, is not answered by it for a while, and calls over the network that loses,
// delays and doubles what it says. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "model/event.h"
#include "sim/explore/agenda.h"
#include "sim/explore/network.h"
#include "sim/explore/oracle.h"
#include "sim/explore/process.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::sim {

struct SimulatedSlurmOptions {
  std::uint64_t seed = 1;
  std::vector<std::string> nodes;  // the first ones, by NodeId; empty: there is none
  std::int32_t gpus_per_node = 0;
  std::int64_t faults_percent = 100;
};

class SimulatedSlurm {
 public:
  SimulatedSlurm(Agenda& agenda, Network& network, Oracle& oracle, SimulatedSlurmOptions options);

  // The account of its adapter, and then its declaration; nothing when there is none.
  std::vector<std::vector<StampedEvent>> declared() const;
  void start();
  // No jobs of its own any more; the adapter works on, without faults.
  void stop() { stopped_ = true; }
  std::uint64_t jobs_begun() const { return jobs_begun_; }
  std::uint64_t placeholders_given() const { return given_; }

 private:
  // What holds a device in the scheduler.
  struct Placeholder {
    std::string id;
    std::string state = "asked";
    std::vector<std::int32_t> devices;
  };
  using Key = std::tuple<std::uint64_t, std::uint32_t, std::string>;  // job, attempt, node
  struct Job {
    std::size_t node = 0;
    std::vector<std::int32_t> devices;
  };

  // -- the scheduler
  void next_job();
  void begin_job();
  void end_job(std::uint64_t id);
  bool is_free(std::size_t node, const std::vector<std::int32_t>& devices) const;
  void take(std::size_t node, const std::vector<std::int32_t>& devices, bool taken);
  void ask(const Key& key, std::vector<std::int32_t> devices);
  void decide(const Key& key, const std::string& id);
  void release(const Key& key);
  std::size_t index_of(const std::string& node) const;

  // -- its adapter
  void call();
  std::string body();
  void answered(std::uint64_t number, const Result<wire::Response>& answer);
  void call_in(std::int64_t delay_us);
  void restart();
  void fall_mute();
  std::int64_t some(std::int64_t mean_us) {
    return 1 + static_cast<std::int64_t>(random_.below(2 * static_cast<std::uint64_t>(mean_us)));
  }

  Agenda& agenda_;
  Oracle& oracle_;
  const SimulatedSlurmOptions options_;
  Random random_;
  Host host_;
  Process process_;
  wire::Loop loop_;
  wire::AsyncClient client_;
  std::vector<std::vector<bool>> taken_;  // by node and device
  std::map<std::uint64_t, Job> jobs_;
  std::map<Key, Placeholder> placeholders_;
  std::uint64_t ids_ = 0;
  bool stopped_ = false;
  // What the adapter's process keeps in memory.
  std::uint64_t incarnation_ = 1;
  std::uint64_t number_ = 0;
  std::uint64_t seen_ = 0;
  std::int64_t mute_until_us_ = 0;
  std::uint64_t calls_ = 0;  // planned; one that is overtaken is not made
  std::uint64_t jobs_begun_ = 0;
  std::uint64_t given_ = 0;
};

}  // namespace dove::sim
