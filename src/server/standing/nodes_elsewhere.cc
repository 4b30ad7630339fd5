#include "server/standing/nodes_elsewhere.h"

#include <nlohmann/json.hpp>

#include "listener/call.h"

namespace dove::server {

void NodesElsewhere::read_log(backends::CallPtr call, const backends::LogRequest&) {
  call->fail(refusal_());
}

void NodesElsewhere::open_link(const backends::CallPtr& call, JobId,
                               const std::optional<backends::ForwardRequest>&) {
  call->fail(refusal_());
}

void NodesElsewhere::run(backends::CallPtr call, const core::Job&, const backends::StepRequest&,
                         backends::StepProgram) {
  call->fail(refusal_());
}

void NodesElsewhere::attach(backends::CallPtr call, const core::Job&, const backends::StepAttach&) {
  call->fail(refusal_());
}

void NodesElsewhere::write_input(backends::CallPtr call, JobId, AttemptNumber, std::int32_t) {
  call->fail(refusal_());
}

void NodesElsewhere::show_job(JobId id, bool, nlohmann::json& object) const {
  const core::Job* job = state_.find_job(id);
  if (job != nullptr && job->phase == JobPhase::kActive) object["observed_by"] = url_();
}

void NodesElsewhere::show_node(NodeId, nlohmann::json& object) const {
  object["version"] = object["agent_pid"] = object["not_enforced"] = nullptr;
  object["observed_by"] = url_();
}

}  // namespace dove::server
