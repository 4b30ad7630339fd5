#include "server/lists/job_programs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "server/sessions/session_app.h"
#include "views/framework.h"

namespace dove::server {

using Json = nlohmann::json;

namespace {

// A quick look: the name begins with what is before the first "=", and the value ends with what is
// behind the last one.
bool may_have_labels(const std::string& program, const WantedLabels& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& text) {
    std::string begin = codec::dump_json(Json(text.substr(0, text.find('=', 1))));
    begin.pop_back();  // the quote behind it
    const std::string end = codec::dump_json(Json(text.substr(text.rfind('=') + 1)));
    return program.find(begin) != std::string::npos &&
           program.find(end.c_str() + 1) != std::string::npos;
  });
}

}  // namespace

Json exec_json(Context& context, const core::Job& job) {
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  if (!blob.ok()) return nullptr;
  Json exec = Json::parse(**blob, nullptr, /*allow_exceptions=*/false);
  return exec.is_discarded() ? Json(nullptr) : exec;
}

bool is_unread(Context& context, const core::Job& job) {
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  return !blob.ok() && blob.error().kind == ErrorKind::kUnavailable;
}

bool is_way_in(Context& context, const Call& call, const core::Job& job) {
  if (!accounts::may_enter(context.state(), call.caller, job)) return false;
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  // Most jobs serve none: their programs are not worth reading.
  return blob.ok() && (*blob)->find("\"app\":") != std::string::npos &&
         !app_of(context, job).name.empty();
}

void show_session(Context& context, const Call& call, const core::Job& job, Json& body) {
  if (!is_way_in(context, call, job)) return;
  const core::State& state = context.state();
  const Json exec = exec_json(context, job);
  body["app"] = exec.at("app");
  const auto container = exec.find("container");
  body["image"] = container == exec.end() ? "" : container->value("image", "");
  const auto shared = state.shared.find(job.id);
  body["shared_with"] = shared == state.shared.end() ? Json::array() : Json(shared->second);
  const std::string url = session_url(context, job, app_of(context, job));
  if (!url.empty()) body["session_url"] = url;
}

void show_framework(Context& context, const core::Job& job, Json& body) {
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  body["framework"] = blob.ok() ? views::framework_of_text(**blob) : "";
}

bool has_labels(Context& context, const Call& call, const core::Job& job,
                const WantedLabels& wanted) {
  if (!accounts::may_act(context.state(), call.caller, job)) return false;
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  // Few jobs have them: the other programs are not worth parsing.
  if (!blob.ok() || !may_have_labels(**blob, wanted)) return false;
  const Json exec = exec_json(context, job);
  const auto labels = exec.find("labels");
  return labels != exec.end() && has_labels(labels->get<Labels>(), wanted);
}

}  // namespace dove::server
