#include "core/state/declared/fold_declared.h"

#include "core/state/books.h"
#include "core/state/executors/fold_executors.h"
#include "core/state/learned/learned.h"
#include "core/state/people.h"
#include "core/state/round_robin.h"
#include "core/state/running/sessions.h"
#include "core/state/usage.h"

namespace dove::core {
namespace {

void set_declaration(State& state, const NodeDeclaration& declaration) {
  // Also a removed node's, for when it comes back.
  Node* node = state.nodes.find(declaration.name);
  if (node == nullptr) return;
  node->declared = declaration;
  rebuild_books(state, *node);
  state.changes.touch(node->id);
}

struct Declaring {
  State& state;

  void operator()(const ClusterSettings& settings) {
    // What follows from the settings is brought in line at once, as the records after this one are
    // folded by it.
    state.settings = settings;
    keep_learned(state);
    if (!is_round_robin(settings)) state.round_robin.clear();
    state.changes.note_declared();
  }
  void operator()(const Pool& pool) {
    // One default at a time: the last that was declared so.
    if (pool.is_default) {
      for (auto& [name, other] : state.pools) other.is_default = false;
    }
    state.pools[pool.name] = pool;
    state.changes.note_declared();
  }
  void operator()(const Queue& queue) {
    put_queue(state, queue);
    keep_learned(state);
    state.changes.note_declared();
  }
  void operator()(const NodeDeclaration& declaration) {
    state.node_declarations[declaration.name] = declaration;
    set_declaration(state, declaration);
  }
  void operator()(const UserLimit& limit) {
    put_limit(state, limit);
    state.changes.note_declared();
  }
  void operator()(const UserDeclaration& user) {
    put_user(state, user);
    state.changes.note_declared();
  }
  void operator()(const Project& project) {
    put_project(state, project);
    state.changes.note_declared();
  }
  void operator()(const Domain& domain) {
    const auto known = state.domains.find(domain.name);
    const Limits before = known == state.domains.end() ? Limits() : known->second.limits;
    put_domain(state, domain);
    // A title changes nothing that is decided, and need not have the indexes built anew.
    if (before != domain.limits) state.changes.note_declared();
  }
  // Nothing that is decided depends on these.
  void operator()(const Group& group) { state.groups[group.name] = group; }
  void operator()(const Binding& binding) { state.bindings[binding.name] = binding; }
  void operator()(const Reservation& reservation) {
    state.reservations[reservation.name] = reservation;
    state.changes.note_declared();
  }
  void operator()(const Executor& executor) { declare_executor(state, executor); }
  void operator()(const App& app) { state.apps[app.name] = app; }
  void operator()(const Settings& settings) { state.job_settings[settings.name] = settings; }
  void operator()(const Secret& secret) { state.secrets[secret.name] = secret; }
  void operator()(const BootConfig& config) { state.boot_configs[config.name] = config; }
  void operator()(const IdleRule& rule) {
    const auto known = state.idle_rules.find(rule.name);
    // Applied again without a change, as a file with many objects is: warnings that were given
    // stand.
    if (known != state.idle_rules.end() && known->second == rule) return;
    end_idle_by(state, rule.name);
    state.idle_rules[rule.name] = rule;
    state.changes.note_declared();
  }
};

}  // namespace

void fold_applied(State& state, const Declared& object) { std::visit(Declaring{state}, object); }

void fold_deleted(State& state, const ObjectDeleted& event) {
  const std::string& name = event.name;
  // The default pool stays, whatever an old log says about it.
  if (event.kind == "pool" && name != "default") {
    state.pools.erase(name);
    state.round_robin.erase(name);
  }
  if (event.kind == "queue") drop_queue(state, name);
  if (event.kind == "limit") drop_limit(state, name);
  if (event.kind == "user") {
    drop_user(state, name);
    // Whoever gets the name later gets none of these.
    std::erase_if(state.secrets, [&](const auto& entry) { return entry.second.user == name; });
  }
  if (event.kind == "project") {
    drop_project(state, name);
    drop_project_bindings(state, name);
    std::erase_if(state.secrets, [&](const auto& entry) { return entry.second.project == name; });
  }
  if (event.kind == "domain") drop_domain(state, name);
  if (event.kind == "group") drop_group(state, name);
  if (event.kind == "binding") state.bindings.erase(name);
  if (event.kind == "reservation") state.reservations.erase(name);
  if (event.kind == "executor") drop_executor(state, name);
  if (event.kind == "idle_rule") {
    end_idle_by(state, name);
    state.idle_rules.erase(name);
  }
  if (event.kind == "app") state.apps.erase(name);
  if (event.kind == "settings") state.job_settings.erase(name);
  if (event.kind == "secret") state.secrets.erase(name);
  if (event.kind == "boot_config") state.boot_configs.erase(name);
  if (event.kind == "node" && state.node_declarations.erase(name) > 0) {
    // Deleting a declaration leaves the node: it is as if nothing had been said about it.
    NodeDeclaration nothing;
    nothing.name = name;
    set_declaration(state, nothing);
  }
  state.changes.note_declared();
}

}  // namespace dove::core
