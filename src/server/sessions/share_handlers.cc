// Sharing a session by name: who else may enter the job's app.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json_fields.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/sessions/session_app.h"
#include "text/spelling.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::size_t kAtOnceMost = 100;

// Not who was let in, nor a job: who shares on, would share what is not theirs.
Result<const core::Job*> job_to_share(const Context& context, const Call& call) {
  TRY_ASSIGN(const core::Job* job, find_job(context.state(), call.parameters[0]));
  if (call.caller.admin || call.caller.user == job->spec->user) return job;
  return Error{ErrorKind::kDenied, "not_yours",
               fmt::format("job {} is of user {}; only that user and administrators share it",
                           job->id.value, job->spec->user),
               ""};
}

Result<void> check_user(const core::State& state, const std::string& name) {
  if (state.users.contains(name)) return {};
  std::vector<std::string_view> known;
  for (const auto& entry : state.users) known.push_back(entry.first);
  const std::string_view near = text::nearest(name, known);
  return Error{ErrorKind::kNotFound, "no_such_user",
               fmt::format("there is no user {}{}", name.substr(0, 64),
                           near.empty() ? "" : fmt::format("; did you mean {}?", near)),
               "users"};
}

std::vector<std::string> shared_with(const core::State& state, JobId job) {
  const auto found = state.shared.find(job);
  return found == state.shared.end() ? std::vector<std::string>{} : found->second;
}

void write_down(Context& context, const CallPtr& call, const core::Job& job,
                std::vector<std::string> users) {
  const JobId id = job.id;
  const Call& asked = *call;
  context.desk.submit(
      asked, JobShared{id, std::move(users)}, [&context, call, id](const auto& committed) {
        if (!committed.ok()) return call->fail(committed.error());
        call->reply(200,
                    Json{{"job", id.value}, {"shared_with", shared_with(context.state(), id)}});
      });
}

}  // namespace

void share_job(Context& context, CallPtr call) {
  std::vector<std::string> more;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.texts("users", more, kNameRule, kAtOnceMost);
    if (more.empty()) fields.fail("users", "missing_field", "name the user that it is shared with");
  });
  if (!read.ok()) return call->fail(read.error());
  const auto job = job_to_share(context, *call);
  if (!job.ok()) return call->fail(job.error());
  const auto app = required_app(context, **job);
  if (!app.ok()) return call->fail(app.error());
  std::vector<std::string> users = shared_with(context.state(), (*job)->id);
  for (const std::string& name : more) {
    if (const auto known = check_user(context.state(), name); !known.ok()) {
      return call->fail(known.error());
    }
    if (name != (*job)->spec->user) users.push_back(name);
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  write_down(context, call, **job, std::move(users));
}

void unshare_job(Context& context, CallPtr call) {
  const auto job = job_to_share(context, *call);
  if (!job.ok()) return call->fail(job.error());
  std::vector<std::string> users = shared_with(context.state(), (*job)->id);
  if (std::erase(users, call->parameters[1]) == 0) {
    return call->fail(Error{ErrorKind::kNotFound, "not_shared",
                            fmt::format("job {} is not shared with {}", (*job)->id.value,
                                        call->parameters[1].substr(0, 64)),
                            ""});
  }
  write_down(context, call, **job, std::move(users));
}

}  // namespace dove::server
