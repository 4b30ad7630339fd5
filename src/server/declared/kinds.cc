#include "server/declared/kinds.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "codec/declared_patch.h"
#include "codec/json.h"
#include "server/record_json.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

// In the order of the alternatives of Declared.
constexpr std::array kKinds = {
    ObjectKind{"cluster", "Cluster"},       ObjectKind{"pool", "Pool"},
    ObjectKind{"queue", "Queue"},           ObjectKind{"node", "Node"},
    ObjectKind{"limit", "Limit"},           ObjectKind{"user", "User"},
    ObjectKind{"project", "Project"},       ObjectKind{"reservation", "Reservation"},
    ObjectKind{"domain", "Domain"},         ObjectKind{"group", "Group"},
    ObjectKind{"binding", "Binding"},       ObjectKind{"executor", "Executor"},
    ObjectKind{"idle_rule", "IdleRule"},    ObjectKind{"app", "App"},
    ObjectKind{"settings", "Settings"},     ObjectKind{"secret", "Secret"},
    ObjectKind{"boot_config", "BootConfig"}};

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
  visit("boot_config", state.boot_configs);
}

}  // namespace

Result<ObjectKind> read_kind(std::string_view text) {
  for (const ObjectKind& kind : kKinds) {
    if (kind.path == text || kind.object == text) return kind;
  }
  return Error{
      ErrorKind::kNotFound, "no_such_kind",
      fmt::format("there is no kind {}; kinds are cluster, pool, queue, node, limit, user, "
                  "project, reservation, domain, group, binding, executor, idle_rule, app, "
                  "settings, secret, boot_config",
                  text.substr(0, 64)),
      "kind"};
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

std::optional<Declared> find_object(const core::State& state, const ObjectKind& kind,
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

std::string object_name(const ObjectKind& kind, const std::string& name) {
  return fmt::format("{} {}", kind.path, name);
}

const ObjectKind& kind_of(const Declared& object) { return kKinds[object.index()]; }

}  // namespace dove::server
