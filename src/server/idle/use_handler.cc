// GET /v1/jobs/{id}/use: how much a job uses of what it holds, or used when it ran.
#include <nlohmann/json.hpp>

#include "codec/quantity.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/idle/idle_sweep.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using backends::UseCourse;

// A gang has a node for each of thousands: those that use the least of their GPUs are told.
constexpr std::size_t kNodesMax = 20;

Json percent(const UseCourse::Part& part) {
  return part ? Json(static_cast<double>(*part) / 100) : Json(nullptr);
}

Json line_json(const UseCourse::Line& line) {
  Json mean = Json::array();
  Json least = Json::array();
  for (const UseCourse::Part& part : line.mean) mean.push_back(percent(part));
  for (const UseCourse::Part& part : line.least) least.push_back(percent(part));
  return {{"mean", std::move(mean)}, {"least", std::move(least)}};
}

// When somebody used it last; null: nobody was seen to, or it is no session that runs.
Json last_input_json(Context& context, const core::Job& job) {
  if (job.phase != JobPhase::kActive) return nullptr;
  const Result<const AppSpec*> app = context.session_apps.of(job);  // not read yet: the next time
  if (!app.ok() || (*app)->name.empty()) return nullptr;
  const backends::JobUse use = context.nodes.use.use_of(job, Span{});
  const Instant last = last_input_of(context, job, **app, use);
  return last.us == 0 ? Json(nullptr) : Json(codec::rfc3339(last));
}

}  // namespace

void get_job_use(Context& context, CallPtr call) {
  const Result<const core::Job*> job = visible_job(context, *call);
  if (!job.ok()) return call->fail(job.error());
  if (context.elsewhere) return call->fail(context.elsewhere());
  const UseCourse course = context.nodes.use.course_of(**job);
  Json nodes = Json::array();
  for (const UseCourse::OfNode& one : course.nodes) {
    if (nodes.size() == kNodesMax) break;
    Json devices = Json::array();
    for (const auto& [device, use] : one.devices) {
      devices.push_back({{"device", device}, {"gpu", percent(use)}});
    }
    nodes.push_back({{"node", context.state().nodes[one.node].name},
                     {"gpu", percent(one.gpu)},
                     {"gpu_memory", percent(one.gpu_memory)},
                     {"cpu", percent(one.cpu)},
                     {"devices", std::move(devices)}});
  }
  const bool is_known = course.begin.us != 0;
  call->reply(200, Json{{"job", (*job)->id.value},
                        {"begin", is_known ? Json(codec::rfc3339(course.begin)) : Json(nullptr)},
                        {"step_s", static_cast<double>(course.step.us) / 1e6},
                        {"gpu", line_json(course.gpu)},
                        {"gpu_memory", line_json(course.gpu_memory)},
                        {"cpu", line_json(course.cpu)},
                        {"last_input", last_input_json(context, **job)},
                        {"nodes", std::move(nodes)}});
}

}  // namespace dove::server
