// Declared state: read, applied, deleted.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "accounts/access.h"
#include "accounts/secrets.h"
#include "codec/json_fields.h"
#include "server/context.h"
#include "server/declared/changes.h"
#include "server/declared/kinds.h"
#include "server/declared/object_checks.h"
#include "server/handlers.h"
#include "server/lists/page_wanted.h"
#include "server/notices/declared_targets.h"
#include "server/sessions/declared_app.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::size_t kObjectsMax = 10'000;

// What is checked with more than the state.
Result<void> look_around(const Context& context, const Caller& caller,
                         std::vector<ObjectChange>& changes) {
  for (ObjectChange& change : changes) {
    TRY(take_targets(context, change.before, change.object));
    const auto* app = std::get_if<App>(&change.object);
    if (app == nullptr || change.is_deletion) continue;
    for (std::string& one : app_warnings(context, caller.user, *app)) {
      change.warnings.push_back(std::move(one));
    }
  }
  return {};
}

controller::Input input_of(const std::vector<ObjectChange>& changes, const Call& call) {
  controller::Input input;
  for (const ObjectChange& change : changes) {
    if (!change.same()) input.events.push_back({change.event(), call.cause()});
  }
  return input;
}

// The cursor of an object: what orders the kinds, in two digits as cursors are compared as text,
// and its name.
std::string cursor_of(const Declared& object, const std::string& name) {
  return fmt::format("{:02}/{}", object.index(), name);
}

// As the former version wrote one: "5/name".
std::string read_cursor(std::string after) {
  const bool is_short = after.size() > 1 && after[0] >= '0' && after[0] <= '9' && after[1] == '/';
  return is_short ? "0" + std::move(after) : after;
}

// Whether each has the name of a secret of the caller's, be there one or not.
bool are_own_secrets(const Json& objects, const Caller& caller) {
  const std::string own = accounts::secret_path(caller.user, "", "");
  const auto is_own = [&](const Json& object) {
    if (!object.is_object()) return false;
    const Json kind = object.value("kind", Json());
    const Json name = object.value("name", Json());
    return kind == Json("Secret") && name.is_string() &&
           name.get_ref<const std::string&>().starts_with(own);
  };
  return objects.is_array() && !objects.empty() &&
         std::all_of(objects.begin(), objects.end(), is_own);
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
  const Result<PageWanted> wanted = read_page_wanted(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  Page<std::string> page(wanted->after, wanted->limit);
  for (const auto& [name, pool] : state.pools) {
    if (!wanted->has(name, pool.labels)) continue;
    const Declared object(pool);
    if (!may_see(state, call->caller, object)) continue;
    if (!page.offer(name, [&] { return shown(object); })) break;
  }
  call->reply(200, page.answer("pools", state.head));
}

void list_queues(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<PageWanted> wanted = read_page_wanted(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  Page<std::string> page(wanted->after, wanted->limit);
  for (const auto& [name, queue] : state.queues) {
    if (!wanted->has(name, queue.labels)) continue;
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
    const Result<ObjectKind> found = read_kind(*text);
    if (!found.ok()) return call->fail(found.error());
    kind = found->path;
  }
  const Result<PageWanted> wanted = read_page_wanted(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  Page<std::string> page(read_cursor(wanted->after), wanted->limit);
  for (const Declared& object : all_objects(state, kind)) {
    const std::string& name =
        std::visit([](const auto& each) -> const std::string& { return each.name; }, object);
    const Labels& labels =
        std::visit([](const auto& each) -> const Labels& { return each.labels; }, object);
    if (!wanted->has(name, labels)) continue;
    if (!may_see(state, call->caller, object)) continue;
    if (!page.offer(cursor_of(object, name), [&] { return shown(object); })) break;
  }
  call->reply(200, page.answer("objects", state.head));
}

void get_object(Context& context, CallPtr call) {
  const Result<ObjectKind> kind = read_kind(call->parameters[0]);
  if (!kind.ok()) return call->fail(kind.error());
  const auto object = find_object(context.state(), *kind, call->parameters[1]);
  // What the caller may not see is not there.
  if (!object.has_value() || !may_see(context.state(), call->caller, *object)) {
    return call->fail(not_found(std::string(kind->path).c_str(), call->parameters[1]));
  }
  call->reply(200, shown(*object));
}

void apply_object(Context& context, CallPtr call) {
  const Result<ObjectKind> kind = read_kind(call->parameters[0]);
  if (!kind.ok()) return call->fail(kind.error());
  if (call->request.body.empty()) {
    return call->fail(invalid("no_body", "send the object's fields as JSON: {...}", ""));
  }
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  auto changes = changes_of_one(std::move(body).value(), *kind, call->parameters[1], call->caller,
                                context.state());
  if (!changes.ok()) return call->fail(changes.error());
  // Before the state is copied. What comes with the object may need what the object makes.
  const ObjectChange& own = changes->front();
  const auto allowed = accounts::may_apply(context.state(), call->caller,
                                           own.before ? &*own.before : nullptr, &own.object);
  if (!allowed.ok()) return call->fail(allowed.error());
  if (const auto taken = look_around(context, call->caller, *changes); !taken.ok()) {
    return call->fail(taken.error());
  }
  const core::Policies& policies = context.desk.controller.policies();
  const auto tried = try_changes(context.state(), call->caller, policies, *changes);
  if (!tried.ok()) return call->fail(tried.error());
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
  Json objects;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    if (const Json* given = fields.find("objects")) objects = *given;
    if (!objects.is_array() || objects.empty() || objects.size() > kObjectsMax) {
      fields.fail("objects", "bad_objects",
                  fmt::format("give a list of 1 to {} objects", kObjectsMax));
    }
  });
  // Trying changes out takes a copy of the state: not for those who may make none.
  const auto any = accounts::may_apply_anything(call->caller);
  if (!any.ok() && !are_own_secrets(objects, call->caller)) return call->fail(any.error());
  if (!read.ok()) return call->fail(read.error());
  auto changes =
      changes_of(objects, call->caller, context.state(), context.desk.controller.policies());
  if (!changes.ok()) return call->fail(changes.error());
  if (const auto taken = look_around(context, call->caller, *changes); !taken.ok()) {
    return call->fail(taken.error());
  }
  controller::Input input = input_of(*changes, *call);
  Json answer = Json::array();
  for (const ObjectChange& change : *changes) answer.push_back(change.json());
  if (input.events.empty() || call->query_flag("dry_run")) {
    return call->reply(200, Json{{"changes", std::move(answer)}});
  }
  context.desk.submit(std::move(input), [call, answer](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    call->reply(200, Json{{"changes", answer}});
  });
}

void delete_object(Context& context, CallPtr call) {
  const Result<ObjectKind> kind = read_kind(call->parameters[0]);
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
