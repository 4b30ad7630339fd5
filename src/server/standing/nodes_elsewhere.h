// NodesElsewhere: the nodes as a standby controller has them. Their agents talk to the leader, so
// nothing of a node can be reached here, and nothing is known beyond the log. Views of a node or a
// running job name the controller that knows more.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <functional>
#include <string>

#include "backends/node_backend.h"
#include "base/result.h"
#include "core/state/state.h"

namespace dove::server {

class NodesElsewhere : public backends::RunningWork,
                       public backends::StepHost,
                       public backends::Observations,
                       public backends::UseMeter {
 public:
  // `refusal` is what calls are refused with that need a node; `url`: of the controller that leads,
  // "" while nobody is known to. `state` outlives it.
  NodesElsewhere(const core::State& state, std::function<Error()> refusal,
                 std::function<std::string()> url)
      : state_(state), refusal_(std::move(refusal)), url_(std::move(url)) {}

  backends::NodeAccess access() { return {*this, *this, *this, *this}; }

  bool reaches(NodeId) const override { return false; }
  void read_log(backends::CallPtr call, const backends::LogRequest&) override;
  void open_link(const backends::CallPtr& call, JobId,
                 const std::optional<backends::ForwardRequest>&) override;
  int signal(const core::Job&, int, backends::SignalTo) override { return 0; }
  void expect_own_end(JobId) override {}

  void run(backends::CallPtr call, const core::Job&, const backends::StepRequest&,
           backends::StepProgram) override;
  void attach(backends::CallPtr call, const core::Job&, const backends::StepAttach&) override;
  void write_input(backends::CallPtr call, JobId, AttemptNumber, std::int32_t) override;
  bool send_signal(JobId, AttemptNumber, std::int32_t, int) override { return false; }

  void show_job(JobId job, bool whole, nlohmann::json& object) const override;
  std::string trouble(JobId) const override { return ""; }
  void show_node(NodeId node, nlohmann::json& object) const override;
  const backends::NodeOffer* offer(NodeId) const override { return nullptr; }
  void add_to(telemetry::Exposition&, const ShowsUser&) const override {}

  backends::JobUse use_of(const core::Job&, Span) const override { return {}; }
  backends::UseCourse course_of(const core::Job&) const override { return {}; }
  std::map<std::int32_t, std::int32_t> devices_of(const core::Node&) const override { return {}; }

 private:
  const core::State& state_;
  const std::function<Error()> refusal_;
  const std::function<std::string()> url_;
};

}  // namespace dove::server
