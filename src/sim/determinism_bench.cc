// determinism_bench SEED EVENTS: what the brain decides over EVENTS random events, as digests.
//
// Histories of 250 batches one after the other, each of the next seed. Every other one is ordered
// and placed by what learns, as a new cluster is; the rest draw their order and placement. Prints
// one JSON object: the events, the histories and those that learn, the decisions with their digest
// (launches with all that they grant), and the digest of the state hashes after every batch. Two
// builds that print the same decided the same.
#include <fmt/format.h>

#include <cstdlib>

#include "base/digest.h"
#include "core/state/hash.h"
#include "policies/standard.h"
#include "sim/plain_brain.h"
#include "sim/random_world.h"

namespace dove::sim {
namespace {

constexpr int kBatches = 250;

struct Trail {
  std::uint64_t events = 0;
  std::uint64_t histories = 0;
  std::uint64_t learned = 0;  // of the histories
  std::uint64_t decisions = 0;
  Digest decided;
  Digest states;

  void add(const Decision& decision) {
    ++decisions;
    decided.add(decision.index());
    const auto* launch = std::get_if<Launch>(&decision);
    if (launch == nullptr) return;
    decided.add(launch->job.value);
    decided.add(static_cast<std::uint64_t>(launch->attempt));
    for (const Placement& place : launch->placements) {
      decided.add(place.node.value);
      for (std::int32_t core : place.cores) decided.add(static_cast<std::uint64_t>(core));
      for (const DeviceGrant& grant : place.devices) {
        decided.add(static_cast<std::uint64_t>(grant.device));
        decided.add(static_cast<std::uint64_t>(grant.share_milli));
      }
    }
  }
};

Result<void> live(std::uint64_t seed, Trail& trail) {
  PlainBrain brain(policies::standard_policies());
  // With quotas a world draws from all the orders.
  RandomWorld world(brain, seed, /*varied=*/true, /*with_hangs=*/false,
                    /*with_quotas=*/seed % 4 < 2);
  const bool learns = seed % 2 == 0;
  if (learns) world.learn();
  brain.begin(Instant{1'000'000'000});
  world.set_up();
  for (int i = 0; i < kBatches; ++i) {
    for (const Decision& decision : brain.decide()) {
      TRY(world.account(decision));
      trail.add(decision);
    }
    trail.states.add(core::state_hash(brain.state()));
    brain.begin(world.next_instant());
    brain.add(TimeReached{});
    world.some_events();
  }
  trail.events += brain.events();
  ++trail.histories;
  trail.learned += learns ? 1 : 0;
  return {};
}

int run(std::uint64_t seed, std::uint64_t events) {
  Trail trail;
  for (; trail.events < events; ++seed) {
    const auto done = live(seed, trail);
    if (done.ok()) continue;
    fmt::print(stderr, "seed {}: {}\n", seed, done.error().message);
    return 1;
  }
  fmt::print(
      "{{\"events\": {}, \"histories\": {}, \"learned\": {}, \"decisions\": {}, "
      "\"decided\": \"{:016x}\", \"states\": \"{:016x}\"}}\n",
      trail.events, trail.histories, trail.learned, trail.decisions, trail.decided.value(),
      trail.states.value());
  return 0;
}

}  // namespace
}  // namespace dove::sim

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: determinism_bench SEED EVENTS\n");
    return 2;
  }
  return dove::sim::run(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
}
