#include "backends/native/native_backend.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "backends/native/agents.h"
#include "backends/native/log_reader.h"
#include "base/check.h"
#include "protocol/control.h"
#include "telemetry/clock.h"

namespace dove::backends {

using Json = nlohmann::json;

class NativeBackend::Work : public RunningWork {
 public:
  explicit Work(Agents& agents) : agents_(agents) {}

  bool reaches(NodeId node) const override { return agents_.sessions.find(node) != nullptr; }
  void expect_own_end(JobId job) override { agents_.expect_own_end(job); }
  void read_log(CallPtr call, const LogRequest& request) override {
    stream_log(std::move(call), request, agents_.relays, agents_.sessions,
               *agents_.desk.open_access);
  }
  void open_link(const CallPtr& call, JobId job,
                 const std::optional<ForwardRequest>& wanted) override {
    if (!wanted) return agents_.execs.open(call, job);
    agents_.forwards.open(call, job, *wanted);
  }
  int signal(const core::Job& job, int number, SignalTo to) override {
    const core::Attempt& attempt = job.attempts.back();
    protocol::Control control;
    control.signal = protocol::Signal{{job.id, attempt.number},
                                      std::nullopt,
                                      number,
                                      to == SignalTo::kScript,
                                      to == SignalTo::kSteps};
    const std::string line = protocol::control_line(control);
    int reached = 0;
    for (const core::PlacementRecord& record : attempt.placements) {
      if (record.stage != core::PlacementStage::kStarted) continue;
      if (agents_.sessions.send(record.placement->node, line)) ++reached;
    }
    return reached;
  }

 private:
  Agents& agents_;
};

class NativeBackend::Notes : public Observations {
 public:
  explicit Notes(Agents& agents) : agents_(agents) {}

  void show_job(JobId job, bool whole, Json& object) const override {
    const core::State& state = agents_.state();
    agents_.progress.show(state, job, /*ranks=*/whole, object);
    if (!whole) return;
    agents_.shares.show(state, job, object);
    agents_.warnings.show(state, job, object);
    if (const core::Job* known = state.find_job(job)) agents_.steps.book().show(*known, object);
  }
  std::string trouble(JobId job) const override {
    return agents_.progress.trouble(agents_.state(), job);
  }
  void show_node(NodeId node, Json& object) const override {
    const AgentSession* session = agents_.sessions.find(node);
    object["version"] = session == nullptr ? Json(nullptr) : Json(session->version);
    object["agent_pid"] = session == nullptr ? Json(nullptr) : Json(session->agent_pid);
    object["not_enforced"] = session == nullptr ? Json(nullptr) : Json(session->not_enforced);
    agents_.refusals.show(node, agents_.desk.loop.monotonic_us(), object);
  }
  const NodeOffer* offer(NodeId node) const override {
    const AgentSession* session = agents_.sessions.find(node);
    return session == nullptr || !session->offer ? nullptr : &*session->offer;
  }
  void add_to(telemetry::Exposition& out, const ShowsUser& shows) const override {
    agents_.progress.add_to(out, agents_.state(), shows);
  }

 private:
  Agents& agents_;
};

class NativeBackend::Meter : public UseMeter {
 public:
  explicit Meter(Agents& agents) : agents_(agents) {}

  JobUse use_of(const core::Job& job, Span window) const override {
    JobUse use = agents_.use.use_of(job, window, agents_.desk.loop.monotonic_us());
    use.last_input = std::max(use.last_input, agents_.links.last_input(job.id, kCommand));
    use.last_connection = agents_.links.last_input(job.id, kConnection);
    return use;
  }
  UseCourse course_of(const core::Job& job) const override {
    return agents_.use.course_of(job, agents_.desk.loop.monotonic_us());
  }
  std::map<std::int32_t, std::int32_t> devices_of(const core::Node& node) const override {
    return agents_.use.devices_of(node, agents_.desk.loop.monotonic_us());
  }

 private:
  Agents& agents_;
};

NativeBackend::NativeBackend() = default;

NativeBackend::~NativeBackend() = default;

void NativeBackend::carry_out(std::vector<Order> orders) {
  const std::lock_guard lock(mutex_);
  if (desk_ == nullptr || orders.empty()) return;
  desk_->loop.post([weak = std::weak_ptr<Agents>(agents_), orders = std::move(orders)]() mutable {
    if (const auto agents = weak.lock()) agents->send_orders(std::move(orders));
  });
}

NodeAccess NativeBackend::open(listener::Desk& desk) {
  CHECK(agents_ == nullptr, "a backend is opened once");
  agents_ = std::make_shared<Agents>(desk);
  work_ = std::make_unique<Work>(*agents_);
  notes_ = std::make_unique<Notes>(*agents_);
  meter_ = std::make_unique<Meter>(*agents_);
  const std::lock_guard lock(mutex_);
  desk_ = &desk;
  return NodeAccess{*work_, agents_->steps, *notes_, *meter_};
}

void NativeBackend::add_routes(std::vector<listener::Route>& routes) {
  for (listener::Route& route : listener::bind_routes(*agents_, agent_routes())) {
    routes.push_back(std::move(route));
  }
}

void NativeBackend::end_streams() { agents_->end_all(); }

void NativeBackend::close() {
  const std::lock_guard lock(mutex_);
  desk_ = nullptr;
  meter_.reset();
  notes_.reset();
  work_.reset();
  agents_.reset();
}

}  // namespace dove::backends
