// Declared objects as JSON: {"kind": "Pool", "name": "gpu", ...}.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/json.h"
#include "codec/json_parts.h"
#include "codec/words.h"
#include "model/job_fields.h"
#include "model/new_cluster.h"

namespace dove::codec {
namespace {

using codec::read;  // of json_kinds.cc
using codec::write;

// The name of a domain or a project; "": none.
constexpr TextRule kLevelRule{256, TextRule::Kind::kLine};
constexpr std::size_t kLevelsMax = 16;
// A line of authorized_keys; the longest RSA key that OpenSSH makes has 16 384 bits.
constexpr TextRule kSshKeyRule{4096, TextRule::Kind::kLine};
constexpr std::size_t kSshKeysMax = 32;
constexpr std::size_t kNoticesMax = 32;
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

// In the order of Declared's alternatives.
constexpr std::array<std::string_view, std::variant_size_v<Declared::Kinds>> kKinds{
    "Cluster",  "Pool",        "Queue",    "Node",   "Limit",     "User",
    "Project",  "Reservation", "Domain",   "Group",  "Binding",   "Executor",
    "IdleRule", "App",         "Settings", "Secret", "BootConfig"};

Json write(const MultifactorWeights& v) {
  Json object{{"age", v.age},
              {"fair_share", v.fair_share},
              {"size", v.size},
              {"priority", v.priority},
              {"queue_priority", v.queue_priority}};
  put_span(object, "age_span", v.age_span);
  return object;
}

void read(JsonFields& fields, MultifactorWeights& v) {
  constexpr std::int64_t kMost = 1'000'000'000;
  fields.integer("age", v.age, 0, kMost);
  fields.span("age_span", v.age_span);
  fields.integer("fair_share", v.fair_share, 0, kMost);
  fields.integer("size", v.size, -kMost, kMost);
  fields.integer("priority", v.priority, 0, kMost);
  fields.integer("queue_priority", v.queue_priority, 0, kMost);
  if (v.age_span < seconds(1)) {
    return fields.fail("age_span", "out_of_range", "must be at least one second");
  }
  if (v.age * 60 > kPoints_minute_max * (v.age_span.us / 1'000'000)) {
    fields.fail("age", "out_of_range",
                fmt::format("is more than {} points for each minute of age_span: lower all weights "
                            "alike, or give a longer age_span",
                            kPoints_minute_max));
  }
}

Json write(const ClusterSettings& v) {
  Json object{{"name", v.name},
              {"array_max", v.array_max},
              {"jobs_max", v.jobs_max},
              {"ended_jobs_max", v.ended_jobs_max},
              {"requeues_max", v.requeues_max},
              {"max_unavailable", v.max_unavailable},
              {"node_tests", v.node_tests},
              {"preflight", v.preflight},
              {"affinity", word(v.affinity)},
              {"job_link_votes", v.job_link_votes},
              {"lemon_faults", v.lemon_faults},
              {"countables", countables_json(v.countables)}};
  put_span(object, "fence", v.fence);
  put_span(object, "disconnect_grace", v.disconnect_grace);
  put_span(object, "outage_grace", v.outage_grace);
  put_span(object, "silent_after", v.silent_after);
  put_span(object, "effect_deadline", v.effect_deadline);
  put_span(object, "ended_jobs_kept", v.ended_jobs_kept);
  put_span(object, "lemon_window", v.lemon_window);
  object["order"] = v.order;
  object["placement"] = v.placement;
  put_span(object, "hang_after", v.hang_after);
  object["on_hang"] = word(v.on_hang);
  object["job_visibility"] = word(v.job_visibility);
  object["slow_percent"] = v.slow_percent;
  object["slow_reports"] = v.slow_reports;
  object["preemption"] = v.preemption;
  put_span(object, "fair_share_half_life", v.fair_share_half_life);
  object["multifactor"] = write(v.multifactor);
  return object;
}

// `scheduling` names an order and a placement by one word.
void read_scheduling(JsonFields& fields, ClusterSettings& v) {
  std::string name;
  std::string order;
  std::string placement;
  fields.text("scheduling", name, kNameRule);
  fields.text("order", order, kNameRule);
  fields.text("placement", placement, kNameRule);
  if (!order.empty()) v.order = order;
  if (!placement.empty()) v.placement = placement;
  if (name.empty()) return;
  if (!order.empty() || !placement.empty()) {
    return fields.fail("scheduling", "given_twice",
                       "scheduling sets order and placement: give it, or them");
  }
  const auto named = with_scheduling(v, name);
  if (!named) {
    return fields.fail("scheduling", "unknown_scheduling",
                       fmt::format("there is no '{}'; known are {}", name, kSchedulings));
  }
  v = *named;
}

// What is null, or not there, is as in a new cluster.
void read(JsonFields& fields, ClusterSettings& v) {
  v = *with_scheduling(v, "learned");
  fields.span("fence", v.fence);
  fields.span("disconnect_grace", v.disconnect_grace);
  fields.span("outage_grace", v.outage_grace);
  fields.span("silent_after", v.silent_after);
  fields.span("effect_deadline", v.effect_deadline);
  fields.integer("array_max", v.array_max, 1, 100'000);
  fields.integer("jobs_max", v.jobs_max, 1, 100'000'000);
  fields.span("ended_jobs_kept", v.ended_jobs_kept);
  fields.integer("ended_jobs_max", v.ended_jobs_max, 0, 100'000'000);
  fields.integer("requeues_max", v.requeues_max, 1, 1'000'000);
  fields.integer("max_unavailable", v.max_unavailable, 1, 1'000'000);
  fields.boolean("node_tests", v.node_tests);
  fields.boolean("preflight", v.preflight);
  fields.boolean("job_link_votes", v.job_link_votes);
  read_affinity(fields, v.affinity);
  if (v.affinity == Affinity::kDefault) {
    fields.fail("affinity", "bad_value", "say single or interleaved: the cluster has no default");
  }
  fields.integer("lemon_faults", v.lemon_faults, 1, 16);
  fields.span("lemon_window", v.lemon_window);
  fields.countables("countables", v.countables);
  read_scheduling(fields, v);
  fields.span("hang_after", v.hang_after);
  if (const int seen = fields.one_of("job_visibility", job_visibilities()); seen >= 0) {
    v.job_visibility = static_cast<JobVisibility>(seen);
  }
  if (const int mode = fields.one_of("on_hang", on_hang_modes()); mode >= 0) {
    v.on_hang = static_cast<OnHang>(mode);
  }
  fields.integer("slow_percent", v.slow_percent, 101, 10'000);
  fields.integer("slow_reports", v.slow_reports, 1, 1000);
  fields.boolean("preemption", v.preemption);
  fields.span("fair_share_half_life", v.fair_share_half_life);
  fields.object("multifactor", [&](JsonFields& inner) { read(inner, v.multifactor); });
  const auto at_least = [&](std::string_view name, Span value, Span least) {
    if (value >= least) return;
    fields.fail(
        name, "out_of_range",
        fmt::format("must be at least {} ms, else nothing could keep up with it", least.us / 1000));
  };
  at_least("fence", v.fence, milliseconds(100));
  at_least("silent_after", v.silent_after, milliseconds(100));
  at_least("effect_deadline", v.effect_deadline, milliseconds(100));
  at_least("fair_share_half_life", v.fair_share_half_life, seconds(1));
}

Json write(const Pool& v) {
  Json object{{"name", v.name},       {"nodes", v.nodes},        {"default", v.is_default},
              {"open", v.open},       {"users", v.users},        {"projects", v.projects},
              {"domains", v.domains}, {"run_as", word(v.run_as)}};
  object["preflight"] =
      v.preflight == PoolSwitch::kCluster ? Json(nullptr) : Json(v.preflight == PoolSwitch::kOn);
  object["exclusive"] = v.exclusive;
  object["affinity"] = word(v.affinity);
  put_span(object, "time_limit_default", v.time_limit_default);
  put_span(object, "time_limit_max", v.time_limit_max);
  return object;
}

void read(JsonFields& fields, Pool& v) {
  fields.texts("nodes", v.nodes, {1024, TextRule::Kind::kName}, kNodesListedMax);
  fields.boolean("default", v.is_default);
  fields.boolean("open", v.open);
  fields.boolean("exclusive", v.exclusive);
  read_affinity(fields, v.affinity);
  fields.span("time_limit_default", v.time_limit_default);
  fields.span("time_limit_max", v.time_limit_max);
  fields.texts("users", v.users, kNameRule, kNodesListedMax);
  fields.texts("projects", v.projects, kNameRule, kNodesListedMax);
  fields.texts("domains", v.domains, kNameRule, kNodesListedMax);
  if (const int mode = fields.one_of("run_as", run_as_modes()); mode >= 0) {
    v.run_as = static_cast<RunAs>(mode);
  }
  if (fields.has("preflight")) {
    bool wanted = false;
    fields.boolean("preflight", wanted);
    v.preflight = wanted ? PoolSwitch::kOn : PoolSwitch::kOff;
  }
  if (v.time_limit_max.us > 0 && v.time_limit_default > v.time_limit_max) {
    fields.fail("time_limit_default", "out_of_range", "is more than time_limit_max");
  }
}

Json write(const Queue& v) {
  return {{"name", v.name},        {"priority", v.priority},
          {"open", v.open},        {"limits", limits_json(v.limits)},
          {"parent", v.parent},    {"guaranteed", quota_json(v.guaranteed)},
          {"weight", v.weight},    {"weights", write(v.weights)},
          {"band", v.band},        {"order", v.order},
          {"promises", v.promises}};
}

void read(JsonFields& fields, Queue& v) {
  fields.integer("priority", v.priority, -1'000'000'000, 1'000'000'000);
  fields.boolean("open", v.open);
  fields.object("limits", [&](JsonFields& inner) { read_limits(inner, v.limits); });
  fields.text("parent", v.parent, {256, TextRule::Kind::kLine});
  fields.object("guaranteed", [&](JsonFields& inner) { read_quota(inner, v.guaranteed); });
  fields.integer("weight", v.weight, 1, kQueueWeight_max);
  fields.object("weights", [&](JsonFields& inner) { read(inner, v.weights); });
  fields.integer("band", v.band, -1'000'000, 1'000'000);
  fields.text("order", v.order, {256, TextRule::Kind::kLine});
  fields.integer("promises", v.promises, 0, 10'000);
}

Json write(const NodeDeclaration& v) {
  Json topology = Json::array();
  for (const TopologyUnit& unit : v.topology) {
    topology.push_back({{"level", unit.level}, {"name", unit.name}});
  }
  return {{"name", v.name},
          {"topology", std::move(topology)},
          {"drained", v.drained},
          {"drain_reason", v.drain_reason},
          {"features", v.features},
          {"countables", countables_json(v.countables)},
          {"cores_reserved", v.cores_reserved},
          {"memory_reserved_bytes", v.memory_reserved_bytes},
          {"topology", topology_json(v.topology)}};
}

// Widest level first, each level once.
void read_topology(JsonFields& fields, std::vector<TopologyUnit>& topology) {
  fields.objects("topology", kLevelsMax, [&](JsonFields& inner, std::size_t i) {
    if (i == 0) topology.clear();
    TopologyUnit unit;
    inner.text("level", unit.level, {64, TextRule::Kind::kName});
    inner.text("name", unit.name, {64, TextRule::Kind::kName});
    if (unit.level.empty()) inner.fail("level", "missing_field", "say which level: rack, switch");
    if (unit.name.empty()) inner.fail("name", "missing_field", "name the unit");
    if (unit.level == kNodeLevel) {
      inner.fail("level", "bad_value", "every node is a unit of level node: leave it out");
    }
    for (const TopologyUnit& wider : topology) {
      if (wider.level == unit.level) {
        inner.fail("level", "given_twice", "each level once, the widest first");
      }
    }
    topology.push_back(std::move(unit));
  });
}

void read(JsonFields& fields, NodeDeclaration& v) {
  fields.boolean("drained", v.drained);
  fields.text("drain_reason", v.drain_reason);
  fields.texts("features", v.features, {64, TextRule::Kind::kFeature}, 64);
  fields.countables("countables", v.countables);
  fields.integer("cores_reserved", v.cores_reserved, 0, kInt32Max);
  fields.bytes("memory_reserved", v.memory_reserved_bytes);
  read_topology(fields, v.topology);
}

Json write(const UserLimit& v) { return {{"name", v.name}, {"limits", limits_json(v.limits)}}; }

void read(JsonFields& fields, UserLimit& v) {
  fields.object("limits", [&](JsonFields& inner) { read_limits(inner, v.limits); });
}

// The former ways to say who is what are shown where a former log says it, and nowhere else.
Json write(const UserDeclaration& v) {
  Json object{{"name", v.name},         {"linux_user", v.linux_user},
              {"disabled", v.disabled}, {"service_of", v.service_of},
              {"identity", v.identity}, {"token_sha256", v.token_sha256},
              {"domain", v.domain}};
  if (v.admin) object["admin"] = true;
  if (!v.password_hash.empty()) object["password_hash"] = v.password_hash;
  put_instant(object, "token_expires_at", v.token_expires_at);
  object["ssh_keys"] = v.ssh_keys;
  Json notices = Json::array();
  for (const NoticeTarget& target : v.notices) notices.push_back(write(target));
  object["notices"] = std::move(notices);
  return object;
}

void read(JsonFields& fields, UserDeclaration& v) {
  fields.text("linux_user", v.linux_user, {32, TextRule::Kind::kLine});
  fields.boolean("admin", v.admin);
  fields.boolean("disabled", v.disabled);
  fields.text("service_of", v.service_of, kLevelRule);
  fields.text("identity", v.identity, {512, TextRule::Kind::kLine});
  fields.text("token_sha256", v.token_sha256, {64, TextRule::Kind::kSha256});
  fields.text("password_hash", v.password_hash, {256, TextRule::Kind::kLine});
  fields.instant("token_expires_at", v.token_expires_at);
  fields.text("domain", v.domain, kLevelRule);
  fields.texts("ssh_keys", v.ssh_keys, kSshKeyRule, kSshKeysMax);
  if (fields.has("notices")) v.notices.clear();
  fields.objects("notices", kNoticesMax,
                 [&](JsonFields& inner, std::size_t) { read(inner, v.notices.emplace_back()); });
}

Json write(const Project& v) {
  Json object{{"name", v.name}, {"domain", v.domain}, {"limits", limits_json(v.limits)}};
  if (!v.users.empty()) object["users"] = v.users;
  return object;
}

void read(JsonFields& fields, Project& v) {
  fields.text("domain", v.domain, kLevelRule);
  fields.texts("users", v.users, kNameRule, kNodesListedMax);
  fields.object("limits", [&](JsonFields& inner) { read_limits(inner, v.limits); });
}

Json write(const Domain& v) {
  return {{"name", v.name}, {"title", v.title}, {"limits", limits_json(v.limits)}};
}

void read(JsonFields& fields, Domain& v) {
  fields.text("title", v.title);
  fields.object("limits", [&](JsonFields& inner) { read_limits(inner, v.limits); });
}

// Lists of people are sets.
void read_names(JsonFields& fields, const char* field, std::vector<std::string>& names) {
  fields.texts(field, names, kNameRule, kNodesListedMax);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

Json write(const Group& v) {
  return {{"name", v.name}, {"domain", v.domain}, {"users", v.users}, {"groups", v.groups}};
}

void read(JsonFields& fields, Group& v) {
  fields.text("domain", v.domain, kLevelRule);
  read_names(fields, "users", v.users);
  read_names(fields, "groups", v.groups);
}

Json write(const Binding& v) {
  return {{"name", v.name},       {"role", word(v.role)}, {"domain", v.domain},
          {"project", v.project}, {"users", v.users},     {"groups", v.groups}};
}

void read(JsonFields& fields, Binding& v) {
  if (!fields.has("role")) {
    fields.fail("role", "missing_field",
                fmt::format("say which role: {}", fmt::join(roles(), ", ")));
  }
  if (const int role = fields.one_of("role", roles()); role >= 0) v.role = static_cast<Role>(role);
  fields.text("domain", v.domain, kLevelRule);
  fields.text("project", v.project, kLevelRule);
  if (!v.domain.empty() && !v.project.empty()) {
    fields.fail("domain", "given_twice",
                "a binding is on a domain or on a project, which has its own domain: leave out one "
                "of them");
  }
  read_names(fields, "users", v.users);
  read_names(fields, "groups", v.groups);
}

Json write(const Reservation& v) {
  Json object{{"name", v.name},
              {"nodes", v.nodes},
              {"outage", v.outage},
              {"users", v.users},
              {"projects", v.projects}};
  put_instant(object, "starts_at", v.starts_at);
  put_instant(object, "ends_at", v.ends_at);
  if (v.spares_for > 0) object["spares_for"] = v.spares_for;
  return object;
}

void read(JsonFields& fields, Reservation& v) {
  fields.texts("nodes", v.nodes, {1024, TextRule::Kind::kName}, kNodesListedMax);
  fields.integer("spares_for", v.spares_for, 2, kNodesListedMax);
  if (v.spares_for > 0) v.ends_at = kNever;
  fields.instant("starts_at", v.starts_at);
  fields.instant("ends_at", v.ends_at);
  fields.boolean("outage", v.outage);
  fields.texts("users", v.users, kNameRule, kNodesListedMax);
  fields.texts("projects", v.projects, kNameRule, kNodesListedMax);
  if (v.nodes.empty()) fields.fail("nodes", "missing_field", "name the nodes");
  if (v.outage && v.spares_for > 0) {
    fields.fail("spares_for", "out_of_range",
                "an outage has no spare nodes: leave one of them out");
  }
  if (v.ends_at <= v.starts_at) {
    fields.fail("ends_at", "out_of_range", "must be later than starts_at");
  }
}

Json write(const IdleRule& v) {
  Json object{{"name", v.name},
              {"users", v.users},
              {"projects", v.projects},
              {"apps", v.apps},
              {"exempt", v.exempt},
              {"sessions_only", v.sessions_only},
              {"gpu_percent", v.gpu_percent},
              {"gpu_memory_percent", v.gpu_memory_percent},
              {"cpu_percent", v.cpu_percent},
              {"any", v.any}};
  put_span(object, "no_input_for", v.no_input_for);
  put_span(object, "window", v.window);
  put_span(object, "lifetime", v.lifetime);
  put_span(object, "grace", v.grace);
  put_span(object, "warning", v.warning);
  return object;
}

void read(JsonFields& fields, IdleRule& v) {
  read_names(fields, "users", v.users);
  read_names(fields, "projects", v.projects);
  read_names(fields, "apps", v.apps);
  fields.boolean("exempt", v.exempt);
  fields.boolean("sessions_only", v.sessions_only);
  fields.integer("gpu_percent", v.gpu_percent, -1, 100);
  fields.integer("gpu_memory_percent", v.gpu_memory_percent, -1, 100);
  fields.integer("cpu_percent", v.cpu_percent, -1, 100);
  fields.boolean("any", v.any);
  fields.span("no_input_for", v.no_input_for);
  fields.span("window", v.window);
  fields.span("lifetime", v.lifetime);
  fields.span("grace", v.grace);
  fields.span("warning", v.warning);
}

template <class T>
Declared read_as(JsonFields& fields) {
  T object;
  if constexpr (std::is_same_v<T, ClusterSettings>) {
    fields.text("name", object.name, kNameRule);
  } else {
    if (!fields.has("name")) fields.fail("name", "missing_field", "name the object");
    fields.text("name", object.name, kNameRule);
  }
  fields.text_map("labels", object.labels, kLabelNameRule, kLabelValueRule, kLabelsMax);
  read(fields, object);
  return object;
}

}  // namespace

Json key_json(const Key& key) {
  Json object{{"id", key.id},
              {"user", key.user},
              {"name", key.name},
              {"scope", word(key.scope)},
              {"kind", word(key.kind)}};
  put_instant(object, "issued_at", key.issued_at);
  put_instant(object, "expires_at", key.expires_at);
  return object;
}

Json declared_json(const Declared& object) {
  Json json = std::visit(
      [](const auto& v) {
        Json fields = write(v);
        if (!v.labels.empty()) fields["labels"] = v.labels;
        return fields;
      },
      object);
  json["kind"] = kKinds[object.index()];
  return json;
}

Result<Declared> read_declared(const Json& value) {
  Failure failure;
  JsonFields fields(value, "", failure);
  const int kind = fields.one_of("kind", kKinds);
  if (kind < 0) {
    fields.fail("kind", "missing_field", fmt::format("say one of {}", fmt::join(kKinds, ", ")));
    return failure.error();
  }
  using Reader = Declared (*)(JsonFields&);
  constexpr std::array<Reader, std::variant_size_v<Declared::Kinds>> kReaders{
      read_as<ClusterSettings>, read_as<Pool>,        read_as<Queue>,
      read_as<NodeDeclaration>, read_as<UserLimit>,   read_as<UserDeclaration>,
      read_as<Project>,         read_as<Reservation>, read_as<Domain>,
      read_as<Group>,           read_as<Binding>,     read_as<Executor>,
      read_as<IdleRule>,        read_as<App>,         read_as<Settings>,
      read_as<Secret>,          read_as<BootConfig>};
  Declared object = kReaders[static_cast<std::size_t>(kind)](fields);
  fields.done();
  if (failure.any()) return failure.error();
  return object;
}

}  // namespace dove::codec
