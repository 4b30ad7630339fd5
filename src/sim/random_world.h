// RandomWorld: people, nodes and tasks that do what comes to mind: events that may be early, late,
// doubled or about nothing. The same seed and the same decisions give the same events.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>

#include "base/random.h"
#include "base/result.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::sim {

// Whom the events happen to.
class Brain {
 public:
  virtual ~Brain() = default;
  virtual const core::State& state() const = 0;
  virtual const core::Policies& policies() const = 0;
  virtual Instant wake_at() const = 0;
  virtual void add(Event event) = 0;
  virtual void next_epoch() = 0;  // from the next batch on
};

class RandomWorld {
 public:
  // The seed decides on the placement of single tasks too. `varied`: also other orders, limits by
  // model, features, and pools that close. `with_hangs`: ranks also report steps, and fall silent.
  // `with_quotas`: varied, and every order, projects with quotas, guarantees by model, pools that
  // give whole nodes, reservations. `brain` is not owned.
  RandomWorld(Brain& brain, std::uint64_t seed, bool varied, bool with_hangs = false,
              bool with_quotas = false)
      : brain_(brain),
        random_(seed),
        placement_(kPlacements[seed % 3]),
        varied_(varied),
        with_hangs_(with_hangs),
        with_quotas_(with_quotas) {}

  // Another placement of single tasks. REQUIRES: set_up is still to come.
  void place_by(const std::string& placement) { placement_ = placement; }
  // By the order and the placement that learn.
  void learn() {
    placement_ = "expected_fit";
    learns_ = true;
  }
  void set_up();       // six nodes, a pool, a queue, limits; REQUIRES: nothing has happened yet
  void some_events();  // none to three
  // When the next batch is: soon, or when the brain wants to wake.
  Instant next_instant();
  // Takes note of what was decided; what must never be decided is an error.
  Result<void> account(const Decision& decision);
  std::uint64_t forgotten() const { return forgotten_; }  // jobs
  std::uint64_t hung() const { return hung_; }            // attempts stopped for it

 private:
  const core::State& state() const { return brain_.state(); }
  std::int32_t number(std::int32_t below) {
    return static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(below)));
  }
  bool one_in(std::int32_t n) { return number(n) == 0; }

  void happen();
  void submit();
  void say_where(JobSpec& spec);
  TaskGroup group();
  void report();
  void tell_progress();
  void settle();
  void ask();
  void declare();
  void declare_project();
  void reserve();
  const char* some_order();
  void touch_node();
  void register_node(int i, const std::string& boot);
  void forget_node(NodeId node);
  NodeId some_node();
  JobId some_job();

  static constexpr const char* kPlacements[] = {"expected_fit", "best_fit", "packing"};

  Brain& brain_;
  Random random_;
  std::string placement_;
  bool learns_ = false;
  bool varied_;
  bool with_hangs_;
  bool with_quotas_;
  std::set<std::tuple<JobId, AttemptNumber, NodeId>> running_;
  std::uint64_t forgotten_ = 0;
  std::uint64_t hung_ = 0;
};

}  // namespace dove::sim
