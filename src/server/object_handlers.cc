// Declared state: read, applied, deleted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "accounts/access.h"
#include "codec/declared_patch.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "core/admit/admit.h"
#include "core/admit/declared_warnings.h"
#include "core/queue/policy.h"
#include "core/state/apply.h"
#include "server/context.h"
#include "server/declared/object_checks.h"
#include "server/former_members.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/notices/declared_targets.h"
#include "server/page.h"
#include "server/record_json.h"
#include "server/sessions/declared_app.h"
#include "server/settings/job_settings.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::size_t kObjectsMax = 10'000;

// As in paths and ObjectDeleted, and as in the objects themselves.
struct Kind {
  std::string_view path;
  std::string_view object;
};
constexpr std::array kKinds = {Kind{"cluster", "Cluster"},    Kind{"pool", "Pool"},
                               Kind{"queue", "Queue"},        Kind{"node", "Node"},
                               Kind{"limit", "Limit"},        Kind{"user", "User"},
                               Kind{"project", "Project"},    Kind{"reservation", "Reservation"},
                               Kind{"domain", "Domain"},      Kind{"group", "Group"},
                               Kind{"binding", "Binding"},    Kind{"executor", "Executor"},
                               Kind{"idle_rule", "IdleRule"}, Kind{"app", "App"},
                               Kind{"settings", "Settings"},  Kind{"secret", "Secret"}};

Result<Kind> read_kind(std::string_view text) {
  for (const Kind& kind : kKinds) {
    if (kind.path == text || kind.object == text) return kind;
  }
  return Error{
      ErrorKind::kNotFound, "no_such_kind",
      fmt::format("there is no kind {}; kinds are cluster, pool, queue, node, limit, user, "
                  "project, reservation, domain, group, binding, executor, idle_rule, app, "
                  "settings, secret",
                  text.substr(0, 64)),
      "kind"};
}

// Calls visit(kind, objects by name) for each kind but the cluster's settings.
template <class Visit>
void each_map(const core::State& state, Visit visit) {
  visit("pool", state.pools);
  visit("queue", state.queues);
  visit("node", state.node_declarations);
  visit("limit", state.user_limits);
  visit("user", state.users);
  visit("project", state.projects);
  visit("reservation", state.reservations);
  visit("domain", state.domains);
  visit("group", state.groups);
  visit("binding", state.bindings);
  visit("executor", state.executors);
  visit("idle_rule", state.idle_rules);
  visit("app", state.apps);
  visit("settings", state.job_settings);
  visit("secret", state.secrets);
}

std::vector<Declared> all_objects(const core::State& state, std::string_view kind) {
  std::vector<Declared> out;
  if (kind.empty() || kind == "cluster") out.emplace_back(state.settings);
  each_map(state, [&](std::string_view each, const auto& objects) {
    if (!kind.empty() && kind != each) return;
    for (const auto& [name, object] : objects) out.emplace_back(object);
  });
  return out;
}

Json shown(const Declared& object) {
  Json out = codec::declared_json(object);
  if (const auto* user = std::get_if<UserDeclaration>(&object)) {
    out["has_token"] = !user->token_sha256.empty();
    out["has_password"] = !user->password_hash.empty();
  }
  hide_digests(out);
  out["version"] = codec::version_of(object);
  return out;
}

std::optional<Declared> find_object(const core::State& state, const Kind& kind,
                                    const std::string& name) {
  if (kind.path == "cluster") return Declared(state.settings);
  std::optional<Declared> found;
  each_map(state, [&](std::string_view each, const auto& objects) {
    if (kind.path != each) return;
    const auto at = objects.find(name);
    if (at != objects.end()) found = Declared(at->second);
  });
  return found;
}

std::string object_name(const Kind& kind, const std::string& name) {
  return fmt::format("{} {}", kind.path, name);
}

// What becomes of an object that is applied.
struct Change {
  Declared object;
  std::optional<Declared> before;
  std::vector<std::string> warnings = {};
  bool is_deletion = false;  // `object` goes
  bool same() const { return !is_deletion && before.has_value() && *before == object; }
  Json json() const {
    return Json{{"change", is_deletion          ? "delete"
                           : same()             ? "none"
                           : before.has_value() ? "update"
                                                : "create"},
                {"before", before.has_value() ? shown(*before) : Json(nullptr)},
                {"object", shown(object)},
                {"warnings", warnings}};
  }
  Event event() const {
    if (!is_deletion) return ObjectApplied{object};
    const std::string& name =
        std::visit([](const auto& each) -> const std::string& { return each.name; }, object);
    return ObjectDeleted{std::string(kKinds[object.index()].path), name};
  }
};

// The fields of `body` over those that are declared.
Result<Change> change_of(Json body, const Kind& kind, const std::string& name,
                         const core::State& state) {
  const Json given_kind = body.value("kind", Json(std::string(kind.object)));
  if (given_kind != Json(std::string(kind.object))) {
    return Error{ErrorKind::kConflict, "kind_differs",
                 "the object's kind is not the one in the path", "kind"};
  }
  body["kind"] = std::string(kind.object);
  if (kind.path != "cluster") {
    if (body.value("name", Json(name)) != Json(name)) {
      return Error{ErrorKind::kConflict, "name_differs",
                   "the object's name is not the one in the path", "name"};
    }
    body["name"] = name;
  }
  const Json version = body.value("version", Json());
  body.erase("version");
  for (const char* said : {"has_token", "has_password"}) {
    const Json has = body.value(said, Json());
    if (!has.is_boolean() && !has.is_null()) {
      return invalid("wrong_type", fmt::format("{} is true or false, and says what there is", said),
                     said);
    }
    body.erase(said);
  }
  std::optional<Declared> before = find_object(state, kind, name);
  TRY_ASSIGN(Declared object,
             codec::read_declared(before.has_value() ? codec::patched(*before, body) : body));
  TRY(check_ssh_keys(object));
  TRY(check_no_secret(object, before));
  if (const auto* settings = std::get_if<Settings>(&object)) TRY(check_settings(state, *settings));
  if (const auto* app = std::get_if<App>(&object)) TRY(check_app(state, *app));
  Change change{std::move(object), std::move(before)};
  if (change.same()) return change;  // applying what is there is fine
  TRY(check_version(version, object_name(kind, name), change.before, "change"));
  return change;
}

Error in_object(Error error, const Json& object) {
  error.message = fmt::format("{}/{}: {}; nothing was applied", object.value("kind", "?"),
                              object.value("name", "cluster"), error.message);
  return error;
}

// One object as it is given may be several changes: former ways to say who is a member.
Result<std::vector<Change>> changes_of_one(Json body, const Kind& kind, const std::string& name,
                                           const core::State& state) {
  const FormerMembers members = take_former_members(body, std::string(kind.object), name, state);
  std::vector<Change> changes;
  TRY_ASSIGN(Change own, change_of(std::move(body), kind, name, state));
  own.warnings = members.warnings;
  changes.push_back(std::move(own));
  if (!members.binding_to_delete.empty()) {
    const Declared gone = state.bindings.at(members.binding_to_delete);
    changes.push_back(Change{gone, gone, {}, true});
  }
  if (!members.binding.is_null()) {
    TRY_ASSIGN(const Kind binding, read_kind("binding"));
    TRY_ASSIGN(Change bound,
               change_of(members.binding, binding, members.binding.at("name"), state));
    changes.push_back(std::move(bound));
  }
  return changes;
}

// Makes it in `trial`, if the caller may and the core takes it.
Result<void> try_change(core::State& trial, const core::Policies& policies, const Caller& caller,
                        const Change& change) {
  TRY(accounts::may_apply(trial, caller, change.before.has_value() ? &*change.before : nullptr,
                          change.is_deletion ? nullptr : &change.object));
  const Event event = change.event();
  TRY(core::admit(trial, policies, event));
  core::apply(trial, StampedEvent{event, Cause{}});
  return {};
}

// REQUIRES: all were made in `trial`.
void add_warnings(const core::State& trial, const core::Policies& policies,
                  std::vector<Change>& changes) {
  for (Change& change : changes) {
    if (change.is_deletion) continue;
    for (std::string& one : core::declared_warnings(trial, policies, change.object)) {
      change.warnings.push_back(std::move(one));
    }
    const auto* settings = std::get_if<Settings>(&change.object);
    if (settings == nullptr) continue;
    for (std::string& one : settings_warnings(trial, *settings)) {
      change.warnings.push_back(std::move(one));
    }
  }
}

// Each is checked with those before it in force.
Result<std::vector<Change>> changes_of(const Json& objects, const Caller& caller,
                                       const core::State& state, const core::Policies& policies) {
  core::State trial(state);
  std::vector<Change> changes;
  for (const Json& object : objects) {
    if (!object.is_object() || !object.value("kind", Json()).is_string() ||
        !object.value("name", Json("")).is_string()) {
      return invalid("bad_object", "each object has a kind and a name", "objects");
    }
    TRY_ASSIGN(const Kind kind, read_kind(object["kind"].get<std::string>()));
    auto made = changes_of_one(object, kind, object.value("name", std::string("cluster")), trial);
    if (!made.ok()) return in_object(made.error(), object);
    for (Change& change : *made) {
      const auto tried = try_change(trial, policies, caller, change);
      if (!tried.ok()) return in_object(tried.error(), object);
      changes.push_back(std::move(change));
    }
  }
  add_warnings(trial, policies, changes);
  return changes;
}

// The same for the changes of one object, whose errors need not say which it is.
Result<void> try_changes(core::State trial, const Caller& caller, const core::Policies& policies,
                         std::vector<Change>& changes) {
  for (const Change& each : changes) TRY(try_change(trial, policies, caller, each));
  add_warnings(trial, policies, changes);
  return {};
}

// What is checked with more than the state.
Result<void> look_around(const Context& context, const Caller& caller,
                         std::vector<Change>& changes) {
  for (Change& change : changes) {
    TRY(take_targets(context, change.before, change.object));
    const auto* app = std::get_if<App>(&change.object);
    if (app == nullptr || change.is_deletion) continue;
    for (std::string& one : app_warnings(context, caller.user, *app)) {
      change.warnings.push_back(std::move(one));
    }
  }
  return {};
}

controller::Input input_of(const std::vector<Change>& changes, const Call& call) {
  controller::Input input;
  for (const Change& change : changes) {
    if (!change.same()) input.events.push_back({change.event(), call.cause()});
  }
  return input;
}

struct PageWanted {
  std::string after;
  std::int64_t limit = kPageUsual;
  std::set<std::string> names;  // only these; empty: all
};

Result<PageWanted> read_page(const Call& call) {
  PageWanted page;
  page.after = call.query_text("after");
  TRY_ASSIGN(page.limit, call.query_number("limit", kPageUsual, 1, kPageMost));
  for (std::string& name : split_list(call.query_text("name"))) page.names.insert(std::move(name));
  return page;
}

// The cursor of an object: what orders the kinds, and its name.
std::string cursor_of(const Declared& object, const std::string& name) {
  return fmt::format("{}/{}", object.index(), name);
}

Json usage_json(const core::Usage& usage) {
  return Json{{"jobs_running", usage.jobs_running},
              {"jobs_waiting", usage.jobs_waiting},
              {"cores", usage.cores},
              {"gpus_milli", usage.gpus_milli},
              {"memory_bytes", usage.memory_bytes},
              {"countables", usage.countables}};
}

}  // namespace

// Those open to the caller; administrators see all.
void list_pools(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<PageWanted> wanted = read_page(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  Page<std::string> page(wanted->after, wanted->limit);
  for (const auto& [name, pool] : state.pools) {
    if (!wanted->names.empty() && wanted->names.count(name) == 0) continue;
    const Declared object(pool);
    if (!may_see(state, call->caller, object)) continue;
    if (!page.offer(name, [&] { return shown(object); })) break;
  }
  call->reply(200, page.answer("pools", state.head));
}

void list_queues(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<PageWanted> wanted = read_page(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  Page<std::string> page(wanted->after, wanted->limit);
  for (const auto& [name, queue] : state.queues) {
    if (!wanted->names.empty() && wanted->names.count(name) == 0) continue;
    const auto make = [&, &own = name, &declared = queue] {
      Json out = shown(Declared(declared));
      const auto usage = state.usage_by_queue.find(own);
      out["usage"] =
          usage_json(usage == state.usage_by_queue.end() ? core::Usage{} : usage->second);
      return out;
    };
    if (!page.offer(name, make)) break;
  }
  call->reply(200, page.answer("queues", state.head));
}

void list_objects(Context& context, CallPtr call) {
  const core::State& state = context.state();
  std::string_view kind;
  if (const std::string* text = call->request.find_query("kind"); text != nullptr) {
    const Result<Kind> found = read_kind(*text);
    if (!found.ok()) return call->fail(found.error());
    kind = found->path;
  }
  const Result<PageWanted> wanted = read_page(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  Page<std::string> page(wanted->after, wanted->limit);
  for (const Declared& object : all_objects(state, kind)) {
    const std::string& name =
        std::visit([](const auto& each) -> const std::string& { return each.name; }, object);
    if (!wanted->names.empty() && wanted->names.count(name) == 0) continue;
    if (!may_see(state, call->caller, object)) continue;
    if (!page.offer(cursor_of(object, name), [&] { return shown(object); })) break;
  }
  call->reply(200, page.answer("objects", state.head));
}

void get_object(Context& context, CallPtr call) {
  const Result<Kind> kind = read_kind(call->parameters[0]);
  if (!kind.ok()) return call->fail(kind.error());
  const auto object = find_object(context.state(), *kind, call->parameters[1]);
  // What the caller may not see is not there.
  if (!object.has_value() || !may_see(context.state(), call->caller, *object)) {
    return call->fail(not_found(std::string(kind->path).c_str(), call->parameters[1]));
  }
  call->reply(200, shown(*object));
}

void apply_object(Context& context, CallPtr call) {
  const Result<Kind> kind = read_kind(call->parameters[0]);
  if (!kind.ok()) return call->fail(kind.error());
  if (call->request.body.empty()) {
    return call->fail(invalid("no_body", "send the object's fields as JSON: {...}", ""));
  }
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  auto changes =
      changes_of_one(std::move(body).value(), *kind, call->parameters[1], context.state());
  if (!changes.ok()) return call->fail(changes.error());
  if (const auto taken = look_around(context, call->caller, *changes); !taken.ok()) {
    return call->fail(taken.error());
  }
  const core::Policies& policies = context.desk.controller.policies();
  const auto tried = try_changes(context.state(), call->caller, policies, *changes);
  if (!tried.ok()) return call->fail(tried.error());
  const Change& own = changes->front();
  controller::Input input = input_of(*changes, *call);
  if (input.events.empty() || call->query_flag("dry_run")) return call->reply(200, own.json());
  context.desk.submit(std::move(input),
                      [call, json = own.json()](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->reply(200, json);
                      });
}

// All of them or none.
void apply_objects(Context& context, CallPtr call) {
  // Trying changes out takes a copy of the state: not for those who may make none.
  if (const auto any = accounts::may_apply_anything(call->caller); !any.ok()) {
    return call->fail(any.error());
  }
  Json objects;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    if (const Json* given = fields.find("objects")) objects = *given;
    if (!objects.is_array() || objects.empty() || objects.size() > kObjectsMax) {
      fields.fail("objects", "bad_objects",
                  fmt::format("give a list of 1 to {} objects", kObjectsMax));
    }
  });
  if (!read.ok()) return call->fail(read.error());
  auto changes =
      changes_of(objects, call->caller, context.state(), context.desk.controller.policies());
  if (!changes.ok()) return call->fail(changes.error());
  if (const auto taken = look_around(context, call->caller, *changes); !taken.ok()) {
    return call->fail(taken.error());
  }
  controller::Input input = input_of(*changes, *call);
  Json answer = Json::array();
  for (const Change& change : *changes) answer.push_back(change.json());
  if (input.events.empty() || call->query_flag("dry_run")) {
    return call->reply(200, Json{{"changes", std::move(answer)}});
  }
  context.desk.submit(std::move(input), [call, answer](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    call->reply(200, Json{{"changes", answer}});
  });
}

void delete_object(Context& context, CallPtr call) {
  const Result<Kind> kind = read_kind(call->parameters[0]);
  if (!kind.ok()) return call->fail(kind.error());
  const auto object = find_object(context.state(), *kind, call->parameters[1]);
  // What the caller may not see is not there.
  if (!object.has_value() || !may_see(context.state(), call->caller, *object)) {
    return call->fail(not_found(std::string(kind->path).c_str(), call->parameters[1]));
  }
  const auto allowed = accounts::may_apply(context.state(), call->caller, &*object, nullptr);
  if (!allowed.ok()) return call->fail(allowed.error());
  const std::string* version = call->request.find_query("version");
  const auto seen = check_version(version == nullptr ? Json() : Json(*version),
                                  object_name(*kind, call->parameters[1]), object, "delete");
  if (!seen.ok()) return call->fail(seen.error());
  const Call& asked = *call;
  context.desk.submit(asked, ObjectDeleted{std::string(kind->path), call->parameters[1]},
                      [call](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->responder->send(wire::Response{204, {}, ""});
                      });
}

}  // namespace dove::server
