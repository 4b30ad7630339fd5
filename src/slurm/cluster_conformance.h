// What every Slurm that the adapter speaks to must do: a real one, the one of `dove sim explore`,
// and (without a gate) the one in memory of the adapter's tests. What the first does was seen; the
// others are of use as long as they do the same.
//
// Include from one *_test.cc file of a program, which names its beds:
//   INSTANTIATE_TEST_SUITE_P(Mine, SlurmConformance, testing::ValuesIn(beds), bed_name);
//   INSTANTIATE_TEST_SUITE_P(Mine, GateConformance, testing::ValuesIn(beds), bed_name);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "slurm/cluster.h"
#include "slurm/fences/put_back.h"
#include "slurm/gate/gate_control.h"
#include "slurm/gate/mark.h"
#include "slurm/gres.h"

namespace dove::slurm {

// A Slurm without jobs, with a node of four GPUs that have a GRES type each.
class SlurmBed {
 public:
  virtual ~SlurmBed() = default;
  virtual SlurmCluster& cluster() = 0;
  virtual GateControl* gate() { return nullptr; }
  virtual std::string node() = 0;
  // A tenth of a second of this Slurm's time.
  virtual void pass_a_moment() = 0;
  // Submits a user's job of that number of GPUs, which runs for minutes: on that node at once, or
  // at the gate. Returns its id.
  virtual std::int64_t begin_open(int gpus) = 0;
  virtual std::int64_t begin_gated(int) { return 0; }
  // As begin_open(), of one GPU: it may run again, and its user wants a signal 90 s before its end.
  virtual std::int64_t begin_signalled() = 0;
  virtual void user_cancels(std::int64_t job) = 0;
};

struct NamedBed {
  std::string name;
  std::function<std::unique_ptr<SlurmBed>()> make;
};

inline void PrintTo(const NamedBed& bed, std::ostream* out) { *out << bed.name; }
inline std::string bed_name(const testing::TestParamInfo<NamedBed>& info) {
  return info.param.name;
}

class SlurmConformance : public testing::TestWithParam<NamedBed> {
 protected:
  SlurmConformance() : bed(GetParam().make()), slurm(bed->cluster()) {}

  bool comes_true(const std::function<bool()>& is_true) {
    constexpr int kMoments = 600;
    for (int i = 0; i < kMoments; ++i) {
      if (is_true()) return true;
      bed->pass_a_moment();
    }
    return false;
  }

  std::optional<JobSeen> find(std::int64_t id) {
    const Result<Observed> seen = slurm.observe();
    EXPECT_TRUE(seen.ok()) << (seen.ok() ? "" : seen.error().message);
    if (!seen.ok()) return std::nullopt;
    for (const JobSeen& job : seen->jobs) {
      if (job.id == id) return job;
    }
    return std::nullopt;
  }
  bool is_in(std::int64_t id, JobPhase phase) {
    const std::optional<JobSeen> job = find(id);
    return job && job->phase == phase;
  }
  // Nothing is held by it any more.
  bool is_over(std::int64_t id) {
    const std::optional<JobSeen> job = find(id);
    return !job || job->phase == JobPhase::kEnded;
  }
  std::vector<int> devices_of(std::int64_t id) {
    const std::optional<JobSeen> job = find(id);
    if (!job || job->allocations.size() != 1 || job->allocations[0].node != bed->node())
      return {-1};
    EXPECT_TRUE(job->devices_known);
    return job->allocations[0].devices;
  }
  NodeSeen node() {
    const Result<Observed> seen = slurm.observe();
    const NodeSeen* found = seen.ok() ? seen->find_node(bed->node()) : nullptr;
    EXPECT_NE(found, nullptr);
    return found == nullptr ? NodeSeen() : *found;
  }

  Ask ask_for(const std::string& name, const std::vector<int>& devices) {
    Ask ask;
    ask.name = name;
    ask.node = bed->node();
    const Result<std::string> gres = pinned_gres(node().device_types, devices);
    EXPECT_TRUE(gres.ok());
    if (gres.ok()) ask.gres = *gres;
    ask.memory_bytes = 1 << 20;
    return ask;
  }
  Result<std::int64_t> ask(const std::string& name, const std::vector<int>& devices) {
    return slurm.ask(ask_for(name, devices));
  }
  // One that must be given.
  std::int64_t held(const std::string& name, const std::vector<int>& devices) {
    const Result<std::int64_t> id = ask(name, devices);
    EXPECT_TRUE(id.ok()) << name << ": " << (id.ok() ? "" : id.error().message);
    return id.ok() ? *id : -1;
  }

  std::unique_ptr<SlurmBed> bed;
  SlurmCluster& slurm;
};

TEST_P(SlurmConformance, EachDeviceOfTheNodeHasATypeOfItsOwn) {
  const NodeSeen seen = node();
  EXPECT_EQ(seen.state, NodeSeen::State::kUp);
  EXPECT_TRUE(seen.registered);
  ASSERT_EQ(seen.device_types.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pinned_gres(seen.device_types, {i}).ok()) << i;
}

TEST_P(SlurmConformance, WhatIsAskedForRunsWithExactlyThoseDevices) {
  const std::int64_t one = held("dove-1.1@c", {2});
  const std::int64_t two = held("dove-2.1@c", {0, 3});
  const std::optional<JobSeen> job = find(one);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->phase, JobPhase::kHolding);
  EXPECT_EQ(job->name, "dove-1.1@c");
  EXPECT_EQ(job->mark, placeholder_mark("dove-1.1@c"));
  EXPECT_GT(job->started_s, 0);
  EXPECT_TRUE(job->wants_devices);
  EXPECT_EQ(devices_of(one), (std::vector<int>{2}));
  EXPECT_EQ(devices_of(two), (std::vector<int>{0, 3}));
}

// T-19: devices are not given in the order of their counts.
TEST_P(SlurmConformance, ReleasedOutOfOrderEachHasItsOwn) {
  const std::int64_t a = held("dove-1.1@c", {0});
  const std::int64_t b = held("dove-2.1@c", {1});
  EXPECT_TRUE(slurm.release(a).ok());
  ASSERT_TRUE(comes_true([&] { return is_over(a); }));
  EXPECT_EQ(devices_of(held("dove-3.1@c", {2})), (std::vector<int>{2}));
  EXPECT_EQ(devices_of(held("dove-4.1@c", {0})), (std::vector<int>{0}));
  EXPECT_EQ(devices_of(b), (std::vector<int>{1}));
}

TEST_P(SlurmConformance, WhatIsTakenIsRefusedAndLeavesNothing) {
  const std::int64_t first = held("dove-1.1@c", {1});
  const Result<std::int64_t> refused = ask("dove-2.1@c", {1, 2});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict) << refused.error().message;
  const Result<Observed> seen = slurm.observe();
  ASSERT_TRUE(seen.ok());
  for (const JobSeen& job : seen->jobs) {
    EXPECT_TRUE(job.id == first || job.phase == JobPhase::kEnded) << job.name;
  }
  EXPECT_EQ(devices_of(held("dove-2.2@c", {2})), (std::vector<int>{2}));
}

TEST_P(SlurmConformance, ReleasingTwiceIsNoError) {
  const std::int64_t one = held("dove-1.1@c", {1});
  EXPECT_TRUE(slurm.release(one).ok());
  EXPECT_TRUE(comes_true([&] { return is_over(one); }));
  EXPECT_TRUE(slurm.release(one).ok());
}

TEST_P(SlurmConformance, AUsersJobHoldsTheLowestThatAreFreeUntilItHasEnded) {
  const std::int64_t ours = held("dove-1.1@c", {1});
  const std::int64_t theirs = bed->begin_open(2);
  ASSERT_TRUE(comes_true([&] { return is_in(theirs, JobPhase::kHolding); }));
  EXPECT_EQ(devices_of(theirs), (std::vector<int>{0, 2}));
  EXPECT_EQ(find(theirs)->mark, "");
  EXPECT_TRUE(find(theirs)->wants_devices);
  const Result<std::int64_t> refused = ask("dove-2.1@c", {0});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict);
  held("dove-3.1@c", {3});
  bed->user_cancels(theirs);
  ASSERT_TRUE(comes_true([&] { return is_over(theirs); }));
  EXPECT_EQ(devices_of(held("dove-4.1@c", {0, 2})), (std::vector<int>{0, 2}));
  EXPECT_EQ(devices_of(ours), (std::vector<int>{1}));
}

TEST_P(SlurmConformance, ALookAtTheJobsAloneSeesTheSame) {
  held("dove-1.1@c", {3});
  const std::int64_t theirs = bed->begin_open(1);
  ASSERT_TRUE(comes_true([&] { return is_in(theirs, JobPhase::kHolding); }));
  const Result<Observed> all = slurm.observe();
  ASSERT_TRUE(all.ok());
  const Result<std::vector<JobSeen>> jobs = slurm.observe_jobs(all->nodes);
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), all->jobs.size());
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    EXPECT_EQ((*jobs)[i].id, all->jobs[i].id);
    EXPECT_EQ((*jobs)[i].allocations, all->jobs[i].allocations);
    EXPECT_EQ((*jobs)[i].mark, all->jobs[i].mark);
  }
}

TEST_P(SlurmConformance, WhatIsSuspendedKeepsItsDevicesAndHasNoCore) {
  const NodeSeen here = node();
  const auto all_cores = [&](const std::string& name, const std::vector<int>& devices) {
    Ask ask = ask_for(name, devices);
    ask.cpus = here.cores_for_jobs() * here.cpus_per_core;
    return slurm.ask(ask);
  };
  const Result<std::int64_t> fence = all_cores("dove-keep-n.1@c", {1});
  ASSERT_TRUE(fence.ok()) << fence.error().message;
  EXPECT_FALSE(find(*fence)->is_suspended());
  ASSERT_TRUE(slurm.suspend(*fence).ok());
  EXPECT_TRUE(find(*fence)->is_suspended());
  EXPECT_TRUE(is_in(*fence, JobPhase::kHolding));
  EXPECT_EQ(devices_of(*fence), (std::vector<int>{1}));
  const Result<std::int64_t> other = all_cores("dove-1.1@c", {2});
  ASSERT_TRUE(other.ok()) << other.error().message;
  const Result<std::int64_t> refused = ask("dove-2.1@c", {1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict) << refused.error().message;
  EXPECT_TRUE(slurm.release(*other).ok());
  EXPECT_TRUE(slurm.release(*fence).ok());
  ASSERT_TRUE(comes_true([&] { return is_over(*fence) && is_over(*other); }));
  held("dove-3.1@c", {1, 2});
}

TEST_P(SlurmConformance, AMarkIsKept) {
  const std::int64_t one = held("dove-1.1@c", {1});
  EXPECT_TRUE(slurm.mark(std::to_string(one), begun_mark("dove-1.1@c")).ok());
  EXPECT_EQ(find(one)->mark, begun_mark("dove-1.1@c"));
}

TEST_P(SlurmConformance, ADrainedNodeGivesNothingAndWhatRunsGoesOn) {
  const std::int64_t one = held("dove-1.1@c", {1});
  ASSERT_TRUE(slurm.set_drain(bed->node(), "dovetail@c: gpu 2: xid: 79").ok());
  EXPECT_EQ(node().state, NodeSeen::State::kDrained);
  EXPECT_EQ(node().reason, "dovetail@c: gpu 2: xid: 79");
  const Result<std::int64_t> refused = ask("dove-2.1@c", {2});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict) << refused.error().message;
  EXPECT_TRUE(is_in(one, JobPhase::kHolding));
  ASSERT_TRUE(slurm.set_drain(bed->node(), "").ok());
  // Slurm takes it for one that does not respond until it has asked it.
  EXPECT_TRUE(comes_true([&] { return node().state == NodeSeen::State::kUp; }));
  held("dove-2.2@c", {2});
}

TEST_P(SlurmConformance, AnotherLimitCountsFromItsStartAndNoneIsNone) {
  const std::int64_t one = held("dove-1.1@c", {1});
  for (const std::int64_t minutes : {30, 10, 45}) {
    const Result<void> set = slurm.set_limit(one, minutes);
    ASSERT_TRUE(set.ok()) << set.error().message;
    const std::optional<JobSeen> job = find(one);
    ASSERT_TRUE(job.has_value());
    EXPECT_EQ(job->ends_s - job->started_s, minutes * 60);
  }
  ASSERT_TRUE(slurm.set_limit(one, 0).ok());
  EXPECT_EQ(find(one)->ends_s, 0);
  EXPECT_EQ(devices_of(one), (std::vector<int>{1}));
}

TEST_P(SlurmConformance, WhatMayWaitIsQueuedAndHasItsDeviceOnceThatIsFree) {
  const std::int64_t busy = held("dove-1.1@c", {1});
  Ask ask = ask_for("dove-keep-" + bed->node() + ".1@c", {1});
  ask.waits = true;
  const Result<std::int64_t> waiting = slurm.ask(ask);
  ASSERT_TRUE(waiting.ok()) << waiting.error().message;
  const std::optional<JobSeen> job = find(*waiting);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->phase, JobPhase::kWaiting);
  EXPECT_EQ(job->name, ask.name);
  EXPECT_EQ(job->mark, placeholder_mark(ask.name));
  EXPECT_EQ(devices_of(busy), (std::vector<int>{1}));
  EXPECT_TRUE(slurm.release(busy).ok());
  ASSERT_TRUE(comes_true([&] { return is_in(*waiting, JobPhase::kHolding); }));
  EXPECT_EQ(devices_of(*waiting), (std::vector<int>{1}));
}

TEST_P(SlurmConformance, AWarnedJobGoesOnForAsLongAsItsUserWants) {
  const std::int64_t theirs = bed->begin_signalled();
  ASSERT_TRUE(comes_true([&] { return is_in(theirs, JobPhase::kHolding); }));
  const Result<std::int64_t> wants_s = slurm.warn(find(theirs)->handle);
  ASSERT_TRUE(wants_s.ok()) << wants_s.error().message;
  EXPECT_EQ(*wants_s, 90);
  EXPECT_TRUE(is_in(theirs, JobPhase::kHolding));
}

TEST_P(SlurmConformance, ARequeuedJobWaitsAndSaysWhyAndOneThatHasEndedStaysSo) {
  const std::int64_t theirs = bed->begin_signalled();
  ASSERT_TRUE(comes_true([&] { return is_in(theirs, JobPhase::kHolding); }));
  EXPECT_TRUE(find(theirs)->may_requeue);
  const std::string handle = find(theirs)->handle;
  const Result<void> done = slurm.requeue(handle, put_back_words(17, "dove"));
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_TRUE(comes_true([&] { return is_in(theirs, JobPhase::kWaiting); }));
  EXPECT_EQ(find(theirs)->mark, put_back_words(17, "dove"));
  EXPECT_TRUE(find(theirs)->allocations.empty());
  bed->user_cancels(theirs);
  ASSERT_TRUE(comes_true([&] { return is_over(theirs); }));
  (void)slurm.requeue(handle, "");  // some say that there is none, some nothing
  for (int i = 0; i < 30; ++i) bed->pass_a_moment();
  EXPECT_TRUE(is_over(theirs));
}

// -- jobs at the gate

class GateConformance : public SlurmConformance {
 protected:
  GateConformance() : gate(*bed->gate()) {}

  // It waits at the gate.
  JobSeen gated(int gpus) {
    const std::int64_t id = bed->begin_gated(gpus);
    EXPECT_TRUE(comes_true([&] { return is_in(id, JobPhase::kWaiting); }));
    return find(id).value_or(JobSeen());
  }
  bool waits_held(std::int64_t id, int restarts) {
    const std::optional<JobSeen> job = find(id);
    return job && job->phase == JobPhase::kWaiting && job->gate && job->gate->is_held &&
           job->gate->restarts == restarts;
  }
  GatePlacing place_for(const JobSeen& job) {
    GateMark mark = read_mark(job.mark);
    mark.job = 17;
    mark.attempt = 2;
    mark.restarts = job.gate->restarts;
    mark.nodes = "";
    return {job.id, write_mark(mark), bed->node(), bed->node()};
  }
  // It runs there.
  JobSeen started(int gpus) {
    const JobSeen job = gated(gpus);
    EXPECT_TRUE(gate.place(job.gate->handle, place_for(job)).ok());
    EXPECT_TRUE(gate.let_go(job.gate->handle).ok());
    EXPECT_TRUE(comes_true([&] { return is_in(job.id, JobPhase::kHolding); }));
    return find(job.id).value_or(job);
  }

  GateControl& gate;
};

TEST_P(GateConformance, AJobWaitsHeldAndSaysWhatItWants) {
  const JobSeen job = gated(2);
  ASSERT_TRUE(job.gate.has_value());
  EXPECT_TRUE(is_of_gate(job.mark));
  EXPECT_TRUE(waits_held(job.id, 0));
  EXPECT_TRUE(job.gate->is_batch);
  EXPECT_EQ(job.gate->gpus_per_node, 2);
  EXPECT_EQ(job.gate->nodes, 1);
  EXPECT_GT(job.gate->memory_per_node, 0);
  EXPECT_EQ(job.gate->cannot, "");
  for (int i = 0; i < 30; ++i) bed->pass_a_moment();
  EXPECT_TRUE(waits_held(job.id, 0));
}

TEST_P(GateConformance, ItRunsInThePlaceThatItWasGiven) {
  const JobSeen job = started(2);
  ASSERT_EQ(job.allocations.size(), 1u);
  EXPECT_EQ(job.allocations[0].node, bed->node());
  EXPECT_EQ(job.allocations[0].devices.size(), 2u);
  EXPECT_EQ(read_mark(job.mark).job, 17);
  EXPECT_EQ(read_mark(job.mark).attempt, 2);
}

TEST_P(GateConformance, ItIsGivenNothingThatAFenceHolds) {
  held("dove-fence-17.2@c", {0, 2});
  EXPECT_EQ(started(2).allocations.at(0).devices, (std::vector<int>{1, 3}));
}

// The second line: whoever let it go.
TEST_P(GateConformance, LetGoWithoutAPlaceItWaitsAgain) {
  const JobSeen job = gated(1);
  ASSERT_TRUE(gate.let_go(job.gate->handle).ok());
  EXPECT_TRUE(comes_true([&] { return waits_held(job.id, 1); }));
}

TEST_P(GateConformance, APlaceOfAFormerStartIsNone) {
  const JobSeen job = gated(1);
  GatePlacing placing = place_for(job);
  GateMark mark = read_mark(placing.mark);
  mark.restarts = 5;
  placing.mark = write_mark(mark);
  ASSERT_TRUE(gate.place(job.gate->handle, placing).ok());
  ASSERT_TRUE(gate.let_go(job.gate->handle).ok());
  EXPECT_TRUE(comes_true([&] { return waits_held(job.id, 1); }));
}

TEST_P(GateConformance, PutBackBeforeItStartsItIsHeldAndHasNoPlace) {
  const std::int64_t busy = held("dove-1.1@c", {0, 1, 2, 3});
  const JobSeen job = gated(1);
  ASSERT_TRUE(gate.place(job.gate->handle, place_for(job)).ok());
  ASSERT_TRUE(gate.let_go(job.gate->handle).ok());
  EXPECT_TRUE(comes_true([&] { return !waits_held(job.id, 0); }));
  ASSERT_TRUE(gate.put_back(job.gate->handle, {job.id, "dovetail-gate", true, true}).ok());
  EXPECT_TRUE(waits_held(job.id, 0));
  EXPECT_EQ(read_mark(find(job.id)->mark).job, 0);
  EXPECT_TRUE(slurm.release(busy).ok());
  for (int i = 0; i < 30; ++i) bed->pass_a_moment();
  EXPECT_TRUE(waits_held(job.id, 0));
}

TEST_P(GateConformance, PutBackWhileItRunsItWaitsAgainHeld) {
  const JobSeen job = started(1);
  ASSERT_TRUE(gate.put_back(job.gate->handle, {job.id, "", false, true}).ok());
  EXPECT_TRUE(comes_true([&] { return waits_held(job.id, 1); }));
}

TEST_P(GateConformance, OneThatHasEndedDoesNotWaitAgain) {
  const JobSeen job = started(1);
  bed->user_cancels(job.id);
  EXPECT_TRUE(gate.put_back(job.gate->handle, {job.id, "", false, true}).ok()) << "it is ending";
  ASSERT_TRUE(comes_true([&] { return is_in(job.id, JobPhase::kEnded); }));
  EXPECT_TRUE(gate.put_back(job.gate->handle, {job.id, "", false, true}).ok());
  for (int i = 0; i < 30; ++i) bed->pass_a_moment();
  EXPECT_TRUE(is_in(job.id, JobPhase::kEnded));
}

TEST_P(GateConformance, OneThatCannotWaitAgainEnds) {
  const JobSeen job = started(1);
  ASSERT_TRUE(gate.put_back(job.gate->handle, GatePutBack{job.id}).ok());
  ASSERT_TRUE(comes_true([&] { return is_in(job.id, JobPhase::kEnded); }));
  EXPECT_NE(find(job.id)->gate->wait_status, 0);
  EXPECT_FALSE(gate.place(job.gate->handle, place_for(job)).ok());
  held("dove-1.1@c", {0, 1, 2, 3});
}

}  // namespace dove::slurm
