// JobSpec as JSON: the deciding half of a submission.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "codec/json_parts.h"
#include "codec/quantity.h"
#include "codec/words.h"

namespace dove::codec {
namespace {

constexpr std::size_t kGroupsMax = 64;
constexpr std::int64_t kTasksMax = 100'000;
constexpr std::size_t kDependenciesMax = 1024;
constexpr std::size_t kArrayElementsMax = 100'000;
constexpr std::int64_t kArrayIndexMax = 4'194'303;
constexpr std::size_t kFeaturesMax = 64;
constexpr std::size_t kNodesListedMax = 10'000;
constexpr std::int64_t kPriorityMax = 1'000'000'000;

// The fields of a group that may stand at the top of a submission, besides those of a request.
constexpr std::string_view kGroupFields[] = {"tasks",          "nodes",    "nodes_min", "nodes_max",
                                             "tasks_per_node", "per_task", "per_node"};

void read_groups(JsonFields& fields, JobSpec& spec) {
  if (!fields.has("groups")) {
    TaskGroup group;
    read_group(fields, group);
    spec.groups = {group};
    return;
  }
  bool flat = has_request(fields);
  for (std::string_view name : kGroupFields) flat = fields.has(name) || flat;
  if (flat) {
    return fields.fail("groups", "given_twice",
                       "tasks, nodes and amounts belong into the groups when there are groups");
  }
  std::set<std::string> names;
  std::int64_t tasks = 0;
  spec.groups.clear();
  Affinity affinity = Affinity::kDefault;  // of groups that do not say
  read_affinity(fields, affinity);
  fields.objects("groups", kGroupsMax, [&](JsonFields& inner, std::size_t i) {
    TaskGroup group;
    group.affinity = affinity;
    if (i > 0) group.name = fmt::format("group{}", i);
    inner.text("name", group.name, {64, TextRule::Kind::kName});
    read_group(inner, group);
    if (!names.insert(group.name).second) {
      inner.fail("name", "given_twice", fmt::format("another group is named {}", group.name));
    }
    tasks += group.tasks;
    spec.groups.push_back(std::move(group));
  });
  if (spec.groups.empty()) fields.fail("groups", "missing_field", "give at least one group");
  if (tasks > kTasksMax) {
    fields.fail("groups", "too_many",
                fmt::format("{} tasks are over the limit of {}", tasks, kTasksMax));
  }
}

void read_dependencies(JsonFields& fields, JobSpec& spec) {
  fields.objects("dependencies", kDependenciesMax, [&](JsonFields& inner, std::size_t) {
    Dependency dependency;
    const int kind = inner.one_of("kind", dependency_kinds());
    inner.integer("job", dependency.job.value);
    inner.span("delay", dependency.delay);
    if (kind < 0) {
      return inner.fail("kind", "missing_field",
                        fmt::format("say one of {}", fmt::join(dependency_kinds(), ", ")));
    }
    dependency.kind = static_cast<DependencyKind>(kind);
    const bool needs_job = dependency.kind != DependencyKind::kSingleton;
    if (needs_job != (dependency.job.value != 0)) {
      return inner.fail("job", needs_job ? "missing_field" : "bad_value",
                        needs_job ? "name the id of the other job" : "singleton has no job");
    }
    spec.dependencies.push_back(dependency);
  });
  fields.boolean("any_dependency", spec.any_dependency);
}

// "0-9", "1,3,5-7", "0-15:4": appended to `indices`; false when it is something else.
bool read_ranges(std::string_view text, std::set<std::int32_t>& indices) {
  const auto number = [](std::string_view& rest, std::int64_t& value) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 0 || value > kArrayIndexMax) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return true;
  };
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    std::int64_t first = 0, last = 0, step = 1;
    if (!number(part, first)) return false;
    last = first;
    if (part.starts_with('-')) {
      part.remove_prefix(1);
      if (!number(part, last) || last < first) return false;
      if (part.starts_with(':')) {
        part.remove_prefix(1);
        if (!number(part, step) || step == 0) return false;
      }
    }
    if (!part.empty()) return false;
    for (std::int64_t i = first; i <= last; i += step) {
      indices.insert(static_cast<std::int32_t>(i));
      if (indices.size() > kArrayElementsMax) return false;
    }
  }
  return !indices.empty();
}

void read_array_text(JsonFields& fields, std::string_view name, std::string_view text,
                     ArraySpec& array) {
  std::string_view ranges = text;
  if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
    const std::string_view limit = text.substr(percent + 1);
    const auto [end, error] =
        std::from_chars(limit.data(), limit.data() + limit.size(), array.running_max);
    if (error != std::errc() || end != limit.data() + limit.size() || array.running_max < 1) {
      return fields.fail(name, "bad_value", R"(write the limit as a number, as in "0-99%10")");
    }
    ranges = text.substr(0, percent);
  }
  std::set<std::int32_t> indices;
  if (!read_ranges(ranges, indices)) {
    return fields.fail(name, "bad_value",
                       fmt::format(R"(write indices as in "0-9", "1,3,5-7", "0-15:4"; at most {} )"
                                   "elements, each at most {}",
                                   kArrayElementsMax, kArrayIndexMax));
  }
  array.indices.assign(indices.begin(), indices.end());
}

// "0-9%2", or {"indices": "0-9" or [0, 1], "running_max": 2}.
void read_array(JsonFields& fields, ArraySpec& array) {
  const Json* value = fields.find("array");
  if (value == nullptr) return;
  if (value->is_string()) {
    return read_array_text(fields, "array", value->get_ref<const std::string&>(), array);
  }
  fields.object("array", [&](JsonFields& inner) {
    const Json* indices = inner.find("indices");
    if (indices != nullptr && indices->is_string()) {
      read_array_text(inner, "indices", indices->get_ref<const std::string&>(), array);
    } else {
      inner.integers("indices", array.indices, 0, kArrayIndexMax, kArrayElementsMax);
    }
    inner.integer("running_max", array.running_max, 0, kArrayIndexMax);
    std::sort(array.indices.begin(), array.indices.end());
    const auto twice = std::adjacent_find(array.indices.begin(), array.indices.end());
    if (twice != array.indices.end()) {
      inner.fail("indices", "given_twice", fmt::format("index {} is there twice", *twice));
    }
    if (array.indices.empty()) inner.fail("indices", "missing_field", "give at least one index");
  });
}

Json secrets_json(const std::vector<SecretUse>& secrets) {
  Json all = Json::array();
  for (const SecretUse& use : secrets) {
    Json one{{"secret", use.secret}};
    if (!use.variable.empty()) one["variable"] = use.variable;
    if (!use.file.empty()) one["file"] = use.file;
    all.push_back(std::move(one));
  }
  return all;
}

// A name in a folder, which leads nowhere else.
bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

void read_secret(JsonFields& fields, SecretUse& use) {
  fields.text("secret", use.secret, kNameRule);
  if (use.secret.empty()) fields.fail("secret", "missing_field", "name a secret of `dove secret`");
  if (fields.has("variable")) {
    fields.text("variable", use.variable, {256, TextRule::Kind::kEnvironmentName});
  }
  fields.text("file", use.file, {255, TextRule::Kind::kLine});
  if (!use.file.empty() && !is_file_name(use.file)) {
    fields.fail("file", "bad_value", "give a name, not a path: files lie in $DOVE_SECRETS");
  }
  if (use.variable.empty() && use.file.empty()) {
    fields.fail("variable", "missing_field",
                "say how the tasks get it: `variable: NAME`, `file: NAME`, or both");
  }
  if (use.variable.starts_with("DOVE_") || use.variable.starts_with("SLURM_")) {
    fields.fail("variable", "bad_value",
                "names that begin with DOVE_ or SLURM_ are the job's own: take another one");
  }
}

void read_secrets(JsonFields& fields, std::vector<SecretUse>& secrets) {
  constexpr std::size_t kSecretsMax = 32;
  std::set<std::string> variables;
  std::set<std::string> files;
  if (fields.has("secrets")) secrets.clear();
  fields.objects("secrets", kSecretsMax, [&](JsonFields& inner, std::size_t) {
    SecretUse use;
    read_secret(inner, use);
    if (!use.variable.empty() && !variables.insert(use.variable).second) {
      inner.fail("variable", "given_twice", "another secret has that variable");
    }
    if (!use.file.empty() && !files.insert(use.file).second) {
      inner.fail("file", "given_twice", "another secret has that file");
    }
    secrets.push_back(std::move(use));
  });
}

// How it may be stopped for others, and where its nodes are to lie: written when it says anything.
void put_scheduling(Json& object, const JobSpec& v) {
  if (v.preempt != Preempt::kNone) object["preempt"] = word(v.preempt);
  if (v.checkpoint_signal != 0) object["checkpoint_signal"] = v.checkpoint_signal;
  if (v.checkpoint_grace.us != 0) put_span(object, "checkpoint_grace", v.checkpoint_grace);
  if (v.slice_min.us != 0) put_span(object, "slice_min", v.slice_min);
  if (v.deadline.us != 0) put_instant(object, "deadline", v.deadline);
  if (!v.reservation.empty()) object["reservation"] = v.reservation;
  if (v.spread != Spread::kAny) object["spread"] = word(v.spread);
  if (!v.domain.empty()) object["domain"] = v.domain;
  if (v.domain_required) object["domain_required"] = true;
  if (!v.label.empty()) object["label"] = v.label;
  if (!v.near_labels.empty()) object["near_labels"] = v.near_labels;
  if (!v.apart_labels.empty()) object["apart_labels"] = v.apart_labels;
  if (!v.executor.empty()) object["executor"] = v.executor;
  if (!v.foreign_job.empty()) object["foreign_job"] = v.foreign_job;
  if (!v.mail_about.empty()) object["mail_about"] = notice_subjects_json(v.mail_about);
  if (!v.mail_to.empty()) object["mail_to"] = v.mail_to;
  if (!v.secrets.empty()) object["secrets"] = secrets_json(v.secrets);
}

// "mail_about" and "mail_to", or {"about": [...], "to": "..."} as "mail".
void read_mail(JsonFields& fields, JobSpec& v) {
  constexpr TextRule kAddress{1024, TextRule::Kind::kLine};
  read_notice_subjects(fields, "mail_about", v.mail_about);
  fields.text("mail_to", v.mail_to, kAddress);
  if (fields.has("mail") && (fields.has("mail_about") || fields.has("mail_to"))) {
    return fields.fail("mail", "given_twice", "give mail, or mail_about and mail_to");
  }
  fields.object("mail", [&](JsonFields& inner) {
    read_notice_subjects(inner, "about", v.mail_about);
    inner.text("to", v.mail_to, kAddress);
  });
}

void read_scheduling(JsonFields& fields, JobSpec& v) {
  constexpr std::int64_t kSignalMax = 64;
  constexpr std::size_t kLabelsMax = 64;
  const int preempt = fields.one_of("preempt", preempt_modes());
  if (preempt >= 0) v.preempt = static_cast<Preempt>(preempt);
  fields.integer("checkpoint_signal", v.checkpoint_signal, 0, kSignalMax);
  fields.span("checkpoint_grace", v.checkpoint_grace);
  fields.span("slice_min", v.slice_min);
  fields.instant("deadline", v.deadline);
  fields.text("reservation", v.reservation, {256, TextRule::Kind::kLine});
  const int spread = fields.one_of("spread", spreads());
  if (spread >= 0) v.spread = static_cast<Spread>(spread);
  fields.text("domain", v.domain, {64, TextRule::Kind::kLine});
  fields.boolean("domain_required", v.domain_required);
  if (v.domain_required && v.domain.empty()) {
    fields.fail("domain_required", "missing_field",
                "name the level of the topology that is required with domain");
  }
  fields.text("label", v.label, {64, TextRule::Kind::kLine});
  fields.texts("near_labels", v.near_labels, {64, TextRule::Kind::kName}, kLabelsMax);
  fields.texts("apart_labels", v.apart_labels, {64, TextRule::Kind::kName}, kLabelsMax);
  fields.text("executor", v.executor, {256, TextRule::Kind::kLine});
  read_mail(fields, v);
  read_secrets(fields, v.secrets);
}

}  // namespace

Json spec_json(const JobSpec& v) {
  Json object{{"name", v.name},           {"user", v.user},
              {"project", v.project},     {"queue", v.queue},
              {"pool", v.pool},           {"priority", v.priority},
              {"launch", word(v.launch)}, {"retries_max", v.retries_max},
              {"requeue", v.requeue},     {"hold", v.hold},
              {"exclusive", v.exclusive}};
  for (const TaskGroup& group : v.groups) object["groups"].push_back(group_json(group));
  if (!v.cluster_requests.empty()) {
    object["cluster_requests"] = countables_json(v.cluster_requests);
  }
  put_span(object, "time_limit", v.time_limit);
  put_span(object, "kill_grace", v.kill_grace);
  if (v.begin_at.us != 0) put_instant(object, "begin_at", v.begin_at);
  if (v.deadline.us != 0) put_instant(object, "deadline", v.deadline);
  if (!v.reservation.empty()) object["reservation"] = v.reservation;
  Json dependencies = Json::array();
  for (const Dependency& dependency : v.dependencies) {
    Json one{{"kind", word(dependency.kind)}};
    if (dependency.job) one["job"] = dependency.job.value;
    if (dependency.delay.us != 0) put_span(one, "delay", dependency.delay);
    dependencies.push_back(std::move(one));
  }
  object["dependencies"] = std::move(dependencies);
  object["any_dependency"] = v.any_dependency;
  if (!v.array.indices.empty()) {
    object["array"] = {{"indices", v.array.indices}, {"running_max", v.array.running_max}};
  }
  object["features"] = v.features;
  object["nodes_wanted"] = v.nodes_wanted;
  object["nodes_excluded"] = v.nodes_excluded;
  put_scheduling(object, v);
  return object;
}

void read_spec(JsonFields& fields, JobSpec& v) {
  constexpr TextRule kOptionalName{256, TextRule::Kind::kLine};
  fields.text("name", v.name, kNameRule);
  fields.text("project", v.project, kOptionalName);
  fields.text("queue", v.queue, kNameRule);
  fields.text("pool", v.pool, kOptionalName);
  fields.integer("priority", v.priority, -kPriorityMax, kPriorityMax);
  read_groups(fields, v);
  fields.countables("cluster_requests", v.cluster_requests);
  fields.span("time_limit", v.time_limit);
  fields.span("kill_grace", v.kill_grace);
  fields.instant("begin_at", v.begin_at);
  fields.instant("deadline", v.deadline);
  fields.text("reservation", v.reservation, kOptionalName);
  read_dependencies(fields, v);
  read_array(fields, v.array);
  fields.integer("retries_max", v.retries_max, 0, 1'000'000);
  fields.boolean("requeue", v.requeue);
  fields.boolean("hold", v.hold);
  fields.boolean("exclusive", v.exclusive);
  fields.texts("features", v.features, {64, TextRule::Kind::kName}, kFeaturesMax);
  fields.texts("nodes_wanted", v.nodes_wanted, kNameRule, kNodesListedMax);
  fields.texts("nodes_excluded", v.nodes_excluded, kNameRule, kNodesListedMax);
  read_scheduling(fields, v);
}

}  // namespace dove::codec
