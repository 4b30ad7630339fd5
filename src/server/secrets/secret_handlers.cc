// /v1/secrets: values that tasks get and nobody is shown. What comes in is sealed at once; nothing
// here gives a value out.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "accounts/access.h"
#include "accounts/secrets.h"
#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/lists/page_wanted.h"
#include "wire/tls/sealed_box.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::size_t kValueBytesMax = 64 << 10;
constexpr std::size_t kSecretsMax = 100;  // of a user, and of a project
// What one commit of a rotation holds: some megabytes.
constexpr std::size_t kResealedAtOnce = 50;

Json shown(const Secret& secret) {
  Json out{
      {"name", accounts::secret_name(secret)}, {"user", secret.user}, {"project", secret.project}};
  codec::put_instant(out, "set_at", secret.set_at);
  return out;
}

// Whose it is: the caller's own, or of the project that they name.
struct Owner {
  std::string user;
  std::string project;
};

Result<Owner> owner_of(const core::State& state, const Call& call) {
  const std::string project = call.query_text("project");
  const std::string user = call.query_text("user");
  const Caller& caller = call.caller;
  if (!project.empty() && !user.empty()) {
    return invalid("given_twice", "a secret belongs to a user or to a project: give one of them",
                   "user");
  }
  if (project.empty()) {
    if (!user.empty() && user != caller.user && !caller.admin) {
      return Error{ErrorKind::kDenied, "admin_only",
                   "only an administrator may keep secrets of other people; leave out `user`",
                   "user"};
    }
    if (!user.empty() && !listener::is_name(user)) return not_found("user", user);
    return Owner{user.empty() ? caller.user : user, ""};
  }
  if (!state.projects.contains(project) || !may_see_project(state, caller, project)) {
    return not_found("project", project);
  }
  if (caller.admin || caller.standing.in_project(state, project).at_least(Role::kManager)) {
    return Owner{"", project};
  }
  return Error{ErrorKind::kDenied, "role_needed",
               fmt::format("this takes the role manager on project \"{}\": ask one who has it, or "
                           "keep a secret of your own",
                           project),
               "project"};
}

// "hub", "deploy.key": what a path may hold, and what is easily told from the name of a project.
Result<void> check_name(const std::string& name) {
  if (listener::is_name(name)) return {};
  return invalid("bad_name", "a secret's name is letters, digits and _.-@, at most 64", "name");
}

Result<void> check_value(const std::string& value) {
  if (value.empty()) {
    return invalid("missing_field", "the value is empty; the body of the request is the value",
                   "value");
  }
  if (value.size() <= kValueBytesMax) return {};
  return Error{ErrorKind::kTooLarge, "secret_too_large",
               fmt::format("the value has {} bytes, and a secret has at most {}; keep larger data "
                           "in a file that only its readers may open",
                           value.size(), kValueBytesMax),
               "value"};
}

Result<void> check_room(const core::State& state, const Owner& owner, const std::string& path) {
  if (state.secrets.contains(path)) return {};
  const auto count =
      std::count_if(state.secrets.begin(), state.secrets.end(), [&](const auto& entry) {
        return entry.second.user == owner.user && entry.second.project == owner.project;
      });
  if (static_cast<std::size_t>(count) < kSecretsMax) return {};
  return Error{ErrorKind::kConflict, "too_many",
               fmt::format("there are {} secrets already, which is the limit: remove one with "
                           "`dove secret remove NAME`",
                           count),
               "name"};
}

Result<Secret> sealed_secret(Context& context, const Call& call) {
  const core::State& state = context.state();
  const std::string& name = call.parameters[0];
  TRY(check_name(name));
  TRY_ASSIGN(const Owner owner, owner_of(state, call));
  // Whoever gets that name later would get the secret with it.
  if (!owner.user.empty() && owner.user != call.caller.user && !state.users.contains(owner.user)) {
    return not_found("user", owner.user);
  }
  TRY(check_value(call.request.body));
  const std::string path = accounts::secret_path(owner.user, owner.project, name);
  TRY(check_room(state, owner, path));
  Secret secret{path, owner.user, owner.project, "", context.desk.now()};
  const auto known = state.secrets.find(path);
  if (known != state.secrets.end()) secret.labels = known->second.labels;
  TRY(context.vault.check(state.secrets));
  TRY_ASSIGN(secret.sealed, context.vault.seal(path, call.request.body));
  return secret;
}

// The secrets of a rotation that still are to be sealed anew.
struct Rotation {
  std::vector<std::string> paths;
  std::size_t done = 0;
};

Result<controller::Input> resealed(Context& context, const Call& call, Rotation& rotation) {
  controller::Input input;
  for (std::size_t i = 0; i < kResealedAtOnce && rotation.done < rotation.paths.size(); ++i) {
    const auto found = context.state().secrets.find(rotation.paths[rotation.done++]);
    if (found == context.state().secrets.end()) continue;
    Secret secret = found->second;
    TRY_ASSIGN(std::string value, context.vault.open(secret));
    Result<std::string> sealed = context.vault.seal(secret.name, value);
    wire::wipe(value);
    TRY_ASSIGN(secret.sealed, std::move(sealed));
    input.events.push_back({ObjectApplied{Declared(std::move(secret))}, call.cause()});
  }
  return input;
}

// The call keeps its turn until the last one is sealed, so nothing is set meanwhile.
void reseal(Context& context, const CallPtr& call, const std::shared_ptr<Rotation>& rotation) {
  Result<controller::Input> input = resealed(context, *call, *rotation);
  if (!input.ok()) return call->fail(input.error());
  if (input->events.empty()) {
    if (rotation->done < rotation->paths.size()) return reseal(context, call, rotation);
    const Result<void> ended = context.vault.end_rotation();
    if (!ended.ok()) return call->fail(ended.error());
    return call->reply(200, {{"resealed", rotation->paths.size()}});
  }
  context.desk.submit(std::move(input).value(),
                      [&context, call, rotation](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        reseal(context, call, rotation);
                      });
}

}  // namespace

void list_secrets(Context& context, CallPtr call) {
  const Result<PageWanted> wanted = read_page_wanted(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  const std::string project = call->query_text("project");
  Page<std::string> page(wanted->after, wanted->limit);
  for (const auto& [path, secret] : context.state().secrets) {
    if (!project.empty() && secret.project != project) continue;
    if (!wanted->has(accounts::secret_name(secret), secret.labels)) continue;
    if (!may_see(context.state(), call->caller, Declared(secret))) continue;
    const Secret& one = secret;
    if (!page.offer(path, [&] { return shown(one); })) break;
  }
  call->reply(200, page.answer("secrets", context.state().head));
}

void set_secret(Context& context, CallPtr call) {
  Result<Secret> secret = sealed_secret(context, *call);
  wire::wipe(call->request.body);
  if (!secret.ok()) return call->fail(secret.error());
  const Call& asked = *call;
  Json answer = shown(*secret);
  context.desk.submit(asked, ObjectApplied{Declared(std::move(secret).value())},
                      [call, answer = std::move(answer)](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->reply(200, answer);
                      });
}

void remove_secret(Context& context, CallPtr call) {
  const std::string& name = call->parameters[0];
  const Result<Owner> owner = owner_of(context.state(), *call);
  if (!owner.ok()) return call->fail(owner.error());
  const std::string path = accounts::secret_path(owner->user, owner->project, name);
  if (!context.state().secrets.contains(path)) return call->fail(not_found("secret", name));
  const Call& asked = *call;
  context.desk.submit(asked, ObjectDeleted{"secret", path},
                      [call](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->responder->send(wire::Response{204, {}, ""});
                      });
}

void rotate_secret_key(Context& context, CallPtr call) {
  const Result<void> begun = context.vault.begin_rotation(context.state().secrets);
  if (!begun.ok()) return call->fail(begun.error());
  const auto rotation = std::make_shared<Rotation>();
  for (const auto& [path, secret] : context.state().secrets) rotation->paths.push_back(path);
  reseal(context, call, rotation);
}

}  // namespace dove::server
