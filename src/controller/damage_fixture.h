// What the tests of damaged stores share: a log in which something happened, a start as a server's,
// and the verdict over it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/apart_for_test.h"
#include "controller/controller_fixture.h"
#include "controller/ledger.h"
#include "core/state/hash.h"
#include "files/damager_for_test.h"
#include "store/chain/chain.h"

namespace dove::controller {

inline const std::string kExec = "{\"command\":[\"" + std::string(700, 'x') + "\"]}";

inline std::string exec_digest() { return store::hex_of(store::Chain().of(kExec)); }

// Jobs come, run and end; snapshots are made on the way, and what is old is forgotten. `at_work`
// before it is stopped.
inline void live(store::LogStore& log, store::LogKeeper& keeper, const core::Policies& policies,
                 int jobs, std::uint64_t records_kept, const std::function<void()>& at_work = {}) {
  FakeBackend backend;
  ControllerOptions options = test_options(policies);
  options.hash_every_batches = 8;
  options.snapshot_every_records = 40;
  options.records_kept = records_kept;
  Controller controller(log, keeper, backend, options);
  ASSERT_TRUE(controller.open().ok());
  controller.start();
  const NodeId node = controller.state().nodes.empty() ? add_node(controller, "n1", 1) : NodeId(1);
  ASSERT_TRUE(submit_and_wait(controller, NodeConnected{node, "boot"}).ok());
  for (int i = 0; i < jobs; ++i) {
    Input input = submission(small_job());
    auto& submitted = std::get<JobSubmitted>(input.events.front().event);
    JobSpec spec = *submitted.spec;
    spec.exec_digest = exec_digest();
    submitted.spec = std::make_shared<const JobSpec>(std::move(spec));
    input.blobs = {{exec_digest(), kExec}};
    const auto answer = submit_and_wait(controller, std::move(input));
    ASSERT_TRUE(answer.ok());
    if (i % 3 == 0) continue;
    const JobId job = answer->first_job;
    ASSERT_TRUE(submit_and_wait(controller, PlacementStarted{job, 1, node}).ok());
    ASSERT_TRUE(submit_and_wait(controller, PlacementEnded{job, 1, node, {TaskExit{}}, 0, 0}).ok());
  }
  if (at_work) at_work();
  controller.stop();
}

struct StartMade {
  std::optional<Error> refused;
  std::uint64_t hash = 0;
  Seq head;
  BatchNumber batch;
  Epoch epoch;
  std::string exec;
};

// As a server does before it says that it is ready, and what it looks at behind that.
template <class Store>
Result<void> start_on(Store& store, const core::Policies& policies, StartMade& made) {
  Ledger ledger(policies);
  TRY(ledger.recover(store, store));
  TRY_ASSIGN(made.epoch, store.begin_epoch("test"));
  TRY(ledger.follow(store));
  TRY(ledger.check_batch(store.head()));
  made.hash = core::state_hash(ledger.state());
  made.head = ledger.state().head;
  made.batch = ledger.last_batch();
  if (made.epoch < ledger.state().epoch) {
    return Error{ErrorKind::kInternal, "term_back", "a term of before is given again", ""};
  }
  TRY_ASSIGN(const std::optional<std::string> exec, store.blob(exec_digest()));
  if (!exec) return Error{ErrorKind::kCorrupt, "blob_damaged", "table blobs: one is missing", ""};
  made.exec = *exec;
  return store.verify();
}

inline constexpr char kRefused[] = "refused";
inline constexpr char kHealed[] = "healed";

// kRefused, where one of `places` is named; kHealed; or what was taken.
inline std::string judge(const StartMade& made, const StartMade& whole,
                         const std::vector<std::string>& places) {
  if (made.refused) {
    const std::string& says = made.refused->message;
    for (const std::string& place : places) {
      if (says.find(place) != std::string::npos) return kRefused;
    }
    return "refused without a place: " + made.refused->code + ": " + says;
  }
  if (made.exec != kExec) return "a blob that jobs run is not what it was";
  if (made.head != whole.head) return "it starts with another end of the log";
  if (made.hash != whole.hash) return "it starts with another state";
  if (made.batch != whole.batch) return "it goes on with another batch";
  return made.epoch == whole.epoch ? kHealed : "it begins another term";
}

// `damage(i)` does the next one to a store that is whole, and says what it was and the verdict.
inline void expect_none_taken(
    std::uint64_t seed,
    const std::function<std::pair<std::string, std::string>(std::uint64_t)>& damage) {
  SCOPED_TRACE("DOVE_SEED=" + std::to_string(seed));
  const std::uint64_t count = files::damage_number("DOVE_DAMAGES", 60);
  std::uint64_t healed = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto [how, said] = damage(i);
    healed += said == kHealed ? 1 : 0;
    EXPECT_TRUE(said == kHealed || said == kRefused)
        << "damage " << i << ", " << how << ": " << said;
  }
  testing::Test::RecordProperty("seed", std::to_string(seed));
  fmt::print("{} damages, seed {}: {} healed or harmless, none taken\n", count, seed, healed);
}

}  // namespace dove::controller
