#include "server/declared/changes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "accounts/access.h"
#include "codec/declared_patch.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "controller/level_fit.h"
#include "core/admit/admit.h"
#include "core/admit/declared_warnings.h"
#include "core/admit/limit_warnings.h"
#include "core/state/apply.h"
#include "server/declared/object_checks.h"
#include "server/former_members.h"
#include "server/sessions/declared_app.h"
#include "server/settings/job_settings.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

// Objects that name what is declared after them are tried again: this often for each of all.
constexpr std::size_t kTriesPerObject = 20;
constexpr std::size_t kRefusalsSaid = 2;

// The fields of `body` over those that are declared.
Result<ObjectChange> change_of(Json body, const ObjectKind& kind, const std::string& name,
                               const accounts::Caller& caller, const core::State& state) {
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
  // Nobody learns from a refusal that another's secret is there.
  if (kind.path == "secret" && before.has_value() && !may_see(state, caller, *before)) {
    before.reset();
  }
  TRY_ASSIGN(Declared object,
             codec::read_declared(before.has_value() ? codec::patched(*before, body) : body));
  TRY(check_ssh_keys(object));
  TRY(check_no_secret(object, before));
  if (const auto* settings = std::get_if<Settings>(&object)) TRY(check_settings(state, *settings));
  if (const auto* app = std::get_if<App>(&object)) TRY(check_app(state, *app));
  ObjectChange change{std::move(object), std::move(before)};
  if (change.same()) return change;  // applying what is there is fine
  TRY(check_version(version, object_name(kind, name), change.before, "change"));
  return change;
}

Error in_object(Error error, const Json& object) {
  error.message = fmt::format("{}/{}: {}", object.value("kind", "?"),
                              object.value("name", "cluster"), error.message);
  return error;
}

// The first, with the next one's reason: that object may be what the first one misses.
Error nothing_applied(std::vector<Error> refused) {
  for (std::size_t i = 1; i < refused.size(); ++i) {
    refused[0].message += "; and " + refused[i].message;
  }
  refused[0].message += "; nothing was applied";
  return std::move(refused[0]);
}

// Makes it in `trial`, if the caller may and the core takes it.
Result<void> try_change(core::State& trial, const core::Policies& policies,
                        const accounts::Caller& caller, ObjectChange& change) {
  TRY(accounts::may_apply(trial, caller, change.before.has_value() ? &*change.before : nullptr,
                          change.is_deletion ? nullptr : &change.object));
  const Event event = change.event();
  if (!change.same()) TRY(controller::check_level(StampedEvent{event, Cause{}}, trial.level));
  TRY(core::admit(trial, policies, event));
  // Only pools have limits for jobs that run.
  const bool is_pool = std::holds_alternative<Pool>(change.object);
  const core::PoolLimits limits = is_pool ? core::pool_limits(trial) : core::PoolLimits();
  core::apply(trial, StampedEvent{event, Cause{}});
  for (std::string& one : core::limit_warnings(trial, limits)) {
    change.warnings.push_back(std::move(one));
  }
  return {};
}

// REQUIRES: all were made in `trial`.
void add_warnings(const core::State& trial, const core::Policies& policies,
                  std::vector<ObjectChange>& changes) {
  for (ObjectChange& change : changes) {
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

// Makes the changes that one object of several asks for in `trial`, and adds them to `all`. False:
// nothing is changed, and `refused` says why, unless it says so of enough objects.
Result<bool> try_object(core::State& trial, const core::Policies& policies,
                        const accounts::Caller& caller, const ObjectKind& kind, const Json& object,
                        std::vector<ObjectChange>& all, std::vector<Error>& refused) {
  const auto put_off = [&](const Error& error) {
    if (refused.size() < kRefusalsSaid) refused.push_back(in_object(error, object));
    return false;
  };
  auto made =
      changes_of_one(object, kind, object.value("name", std::string("cluster")), caller, trial);
  if (!made.ok()) return put_off(made.error());
  for (ObjectChange& change : *made) {
    const auto tried = try_change(trial, policies, caller, change);
    if (!tried.ok() && &change != made->data()) return tried.error();  // `trial` has the first
    if (!tried.ok()) return put_off(tried.error());
    all.push_back(std::move(change));
  }
  return true;
}

}  // namespace

Json ObjectChange::json() const {
  return Json{{"change", is_deletion          ? "delete"
                         : same()             ? "none"
                         : before.has_value() ? "update"
                                              : "create"},
              {"before", before.has_value() ? shown(*before) : Json(nullptr)},
              {"object", shown(object)},
              {"warnings", warnings}};
}

Event ObjectChange::event() const {
  if (!is_deletion) return ObjectApplied{object};
  const std::string& name =
      std::visit([](const auto& each) -> const std::string& { return each.name; }, object);
  return ObjectDeleted{std::string(kind_of(object).path), name};
}

// One object as it is given may be several changes: former ways to say who is a member.
Result<std::vector<ObjectChange>> changes_of_one(Json body, const ObjectKind& kind,
                                                 const std::string& name,
                                                 const accounts::Caller& caller,
                                                 const core::State& state) {
  const FormerMembers members = take_former_members(body, std::string(kind.object), name, state);
  std::vector<ObjectChange> changes;
  TRY_ASSIGN(ObjectChange own, change_of(std::move(body), kind, name, caller, state));
  own.warnings = members.warnings;
  changes.push_back(std::move(own));
  if (!members.binding_to_delete.empty()) {
    const Declared gone = state.bindings.at(members.binding_to_delete);
    changes.push_back(ObjectChange{gone, gone, {}, true});
  }
  if (!members.binding.is_null()) {
    TRY_ASSIGN(const ObjectKind binding, read_kind("binding"));
    TRY_ASSIGN(ObjectChange bound,
               change_of(members.binding, binding, members.binding.at("name"), caller, state));
    changes.push_back(std::move(bound));
  }
  return changes;
}

// Each is checked with those before it in force. One that is refused may need what a later one
// declares, so it is tried again after them, and what else the list says of the same object, too.
Result<std::vector<ObjectChange>> changes_of(const Json& objects, const accounts::Caller& caller,
                                             const core::State& state,
                                             const core::Policies& policies) {
  core::State trial(state);
  std::vector<ObjectChange> changes;
  std::vector<const Json*> left;
  for (const Json& object : objects) left.push_back(&object);
  std::size_t tries = 0;
  while (!left.empty()) {
    std::vector<const Json*> later;
    std::set<std::pair<std::string_view, Json>> waiting;
    std::vector<Error> refused;
    tries += left.size();
    for (const Json* object : left) {
      if (!object->is_object() || !object->value("kind", Json()).is_string() ||
          !object->value("name", Json("")).is_string()) {
        return invalid("bad_object", "each object has a kind and a name", "objects");
      }
      TRY_ASSIGN(const ObjectKind kind, read_kind((*object)["kind"].get<std::string>()));
      const std::pair name{kind.path, object->value("name", Json())};
      bool made = false;
      if (!waiting.contains(name)) {
        const auto tried = try_object(trial, policies, caller, kind, *object, changes, refused);
        if (!tried.ok()) return nothing_applied({in_object(tried.error(), *object)});
        made = *tried;
      }
      if (made) continue;
      waiting.insert(name);
      later.push_back(object);
    }
    const bool is_stuck = later.size() == left.size() || tries > kTriesPerObject * objects.size();
    if (!refused.empty() && is_stuck) return nothing_applied(std::move(refused));
    left = std::move(later);
  }
  add_warnings(trial, policies, changes);
  return changes;
}

Result<void> try_changes(core::State trial, const accounts::Caller& caller,
                         const core::Policies& policies, std::vector<ObjectChange>& changes) {
  for (ObjectChange& each : changes) TRY(try_change(trial, policies, caller, each));
  add_warnings(trial, policies, changes);
  return {};
}

}  // namespace dove::server
