#include <fmt/format.h>

#include "core/step.h"

namespace dove::core {
namespace {

Error conflict(const char* code, std::string message) {
  return Error{ErrorKind::kConflict, code, std::move(message), ""};
}

Error not_found(const char* what, std::uint64_t id) {
  return Error{ErrorKind::kNotFound, fmt::format("{}_unknown", what),
               fmt::format("there is no {} {}", what, id), ""};
}

// Most events are facts: they are recorded, not asked about. The overloads are the exceptions.
class Admission {
 public:
  explicit Admission(const State& state) : state_(state) {}

  template <class Fact>
  Result<void> operator()(const Fact&) const {
    return {};
  }

  Result<void> operator()(const JobSubmitted& event) const {
    const auto admitted = admit(state_, *event.spec);
    if (!admitted.ok()) return admitted.error();
    return {};
  }

  Result<void> operator()(const JobCancelRequested& event) const { return not_ended(event.job); }
  Result<void> operator()(const JobPriorityChanged& event) const {
    if (event.priority < -1'000'000 || event.priority > 1'000'000) {
      return Error{ErrorKind::kInvalid, "priority_out_of_range", "priority is -1000000 to 1000000",
                   "priority"};
    }
    return not_ended(event.job);
  }
  Result<void> operator()(const JobReleased& event) const { return not_ended(event.job); }

  Result<void> operator()(const JobHeld& event) const {
    TRY(not_ended(event.job));
    if (state_.find_job(event.job)->phase == JobPhase::kWaiting) return {};
    return conflict("job_active",
                    fmt::format("job {} has been started: requeue or cancel it", event.job.value));
  }

  Result<void> operator()(const JobRequeueRequested& event) const {
    const Job* job = state_.find_job(event.job);
    if (job == nullptr) return not_found("job", event.job.value);
    if (job->phase != JobPhase::kWaiting) return {};
    return conflict("job_waiting", fmt::format("job {} is waiting already", event.job.value));
  }

  Result<void> operator()(const NodeRemoved& event) const {
    const Node* node = state_.find_node(event.node);
    if (node == nullptr || node->removed) return not_found("node", event.node.value);
    if (node->contact != Contact::kConnected) return {};
    return conflict("node_connected",
                    fmt::format("node {} is connected: stop its agent first", node->name));
  }

  Result<void> operator()(const ObjectDeleted& event) const {
    if ((event.kind == "pool" || event.kind == "queue") && event.name == "default") {
      return conflict("default_stays", fmt::format("the default {} cannot be deleted", event.kind));
    }
    const bool known = (event.kind == "pool" && state_.pools.contains(event.name)) ||
                       (event.kind == "queue" && state_.queues.contains(event.name)) ||
                       (event.kind == "limit" && state_.user_limits.contains(event.name)) ||
                       (event.kind == "user" && state_.users.contains(event.name)) ||
                       (event.kind == "project" && state_.projects.contains(event.name)) ||
                       (event.kind == "reservation" && state_.reservations.contains(event.name)) ||
                       (event.kind == "node" && state_.node_declarations.contains(event.name));
    if (!known) {
      return Error{ErrorKind::kNotFound, "object_unknown",
                   fmt::format("nothing is declared as {} \"{}\"", event.kind, event.name), ""};
    }
    return {};
  }

 private:
  Result<void> not_ended(JobId id) const {
    const Job* job = state_.find_job(id);
    if (job == nullptr) return not_found("job", id.value);
    if (job->phase != JobPhase::kEnded) return {};
    return conflict("job_ended", fmt::format("job {} has ended", id.value));
  }

  const State& state_;
};

}  // namespace

Result<void> admit(const State& state, const Event& event) {
  return std::visit(Admission(state), event);
}

}  // namespace dove::core
