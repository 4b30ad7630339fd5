// The adapter among failures: Slurm and the controller fall silent, answers are lost, users submit
// and cancel, administrators cancel placeholders and lend other devices, and the adapter is killed.
// Whatever happened, there is never a second placeholder, and a few cycles after it stops Slurm
// holds what is wanted and what is not lent, and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/random.h"
#include "slurm/adapter.h"
#include "slurm/fake_slurm_for_test.h"

namespace dove::slurm {
namespace {

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) { start(); }

  void step() {
    switch (random_.below(13)) {
      case 0:
        return want();
      case 1:
        return unwant();
      case 2:
        return user_submits();
      case 3:
        return something_ends();
      case 4:
        slurm_.silent = !slurm_.silent;
        return;
      case 5:
        controller_down_ = !controller_down_;
        return;
      case 6:
        return start();
      case 7:
        slurm_.loses_answers = !slurm_.loses_answers;
        return;
      case 8:
        return lend();
      default:
        return cycle();
    }
  }

  void settle() {
    slurm_.silent = controller_down_ = slurm_.loses_answers = false;
    for (int i = 0; i < 20; ++i) cycle();
  }

  void check_never_twice() const {
    std::set<std::string> names;
    for (const JobSeen& job : slurm_.state.jobs) {
      if (!is_placeholder(job, "dove") || job.phase != JobPhase::kHolding) continue;
      ASSERT_TRUE(names.insert(job.name).second) << "two of " << job.name;
    }
  }

  void check_settled() const {
    std::set<std::string> held;
    for (const JobSeen& job : slurm_.state.jobs) {
      if (is_placeholder(job, "dove") && job.phase == JobPhase::kHolding) held.insert(job.name);
    }
    std::set<std::string> wanted;
    for (const Wanted& one : answer_.wanted) {
      const std::string name = placeholder_name(one.key.job, 1, "dove");
      const JobSeen* holder = slurm_.holder(one.devices[0]);
      const bool is_fenced = holder != nullptr && is_standing_fence(*holder, "dove");
      if (held.contains(name) || holder == nullptr || is_fenced) wanted.insert(name);
      if (holder != nullptr && holder->name != name && !is_fenced) {
        EXPECT_FALSE(held.contains(name)) << "the device is " << holder->name << "'s";
      }
    }
    EXPECT_EQ(held, wanted);
    for (const PlaceholderReport& report : last_.placeholders) {
      const bool confirmed = report.state == PlaceholderState::kConfirmed;
      EXPECT_EQ(confirmed, held.contains(placeholder_name(report.key.job, 1, "dove")));
    }
    EXPECT_EQ(last_.placeholders.size(), answer_.wanted.size());
    check_fences();
  }

 private:
  // Whatever is not lent is held by somebody, and nothing else by a fence, but for work of ours.
  void check_fences() const {
    const DevicesOfNodes kept = kept_devices(answer_.lent, slurm_.state.nodes);
    for (int device = 0; device < 4; ++device) {
      const JobSeen* holder = slurm_.holder(device);
      const bool is_fenced = holder != nullptr && is_standing_fence(*holder, "dove");
      const bool is_kept = kept.contains("n1") && kept.at("n1").contains(device);
      EXPECT_TRUE(!is_kept || holder != nullptr) << device;
      const bool is_used = std::any_of(answer_.wanted.begin(), answer_.wanted.end(),
                                       [&](const Wanted& one) { return one.devices[0] == device; });
      EXPECT_TRUE(!is_fenced || is_kept || is_used) << device;
    }
  }

  void start() {
    adapter_.emplace(
        slurm_,
        [this](const SyncRequest& request) -> Result<SyncAnswer> {
          const Error lost{ErrorKind::kUnavailable, "connection_broken", "", ""};
          if (controller_down_) return lost;
          last_ = request;
          if (random_.below(8) == 0) return lost;  // it was taken all the same
          return answer_;
        },
        [this] { return now_us_; }, AdapterOptions{});
  }

  void cycle() {
    adapter_->cycle();
    now_us_ += 3'000'000;
  }

  void want() {
    if (answer_.wanted.size() >= 4) return;
    const int device = static_cast<int>(random_.below(4));
    for (const Wanted& one : answer_.wanted) {
      if (one.devices[0] == device) return;  // the ledger gives a device once
    }
    Wanted one;
    one.key = {++jobs_, 1, "n1"};
    one.devices = {device};
    answer_.wanted.push_back(one);
    ++answer_.version;
  }

  void unwant() {
    if (answer_.wanted.empty()) return;
    answer_.wanted.erase(answer_.wanted.begin() +
                         static_cast<std::ptrdiff_t>(random_.below(answer_.wanted.size())));
    ++answer_.version;
  }

  void lend() {
    answer_.lent = {};
    ++answer_.version;
    if (random_.below(3) == 0) return;  // all
    answer_.lent.nodes = {"n[0-9]"};
    Lent::Part& part = answer_.lent.parts.emplace_back();
    part.nodes = {"n1"};
    for (int device = 0; device < 4; ++device) {
      if (random_.below(2) == 0) part.devices.push_back(device);
    }
  }

  void user_submits() {
    const int device = static_cast<int>(random_.below(4));
    if (slurm_.holder(device) == nullptr) slurm_.add("train", {device});
  }

  // A user's job, or a placeholder that an administrator cancels.
  void something_ends() {
    if (slurm_.state.jobs.empty()) return;
    JobSeen& job = slurm_.state.jobs[random_.below(slurm_.state.jobs.size())];
    if (job.phase == JobPhase::kHolding) {
      job.phase = JobPhase::kEnded;
      job.state = "CANCELLED";
      job.allocations[0].devices.clear();
    } else {
      const std::int64_t id = job.id;
      (void)slurm_.release(id);  // Slurm forgets its record
    }
  }

  Random random_;
  FakeSlurm slurm_;
  SyncAnswer answer_;
  SyncRequest last_;
  bool controller_down_ = false;
  std::int64_t now_us_ = kStart_us;
  std::int64_t jobs_ = 0;
  std::optional<Adapter> adapter_;
};

TEST(AdapterProperty, SlurmHoldsWhatIsWantedAndNeverTwice) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed);
    for (int i = 0; i < 200; ++i) {
      world.step();
      world.check_never_twice();
      if (testing::Test::HasFatalFailure()) return;
    }
    world.settle();
    world.check_settled();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace dove::slurm
