// JobSpec as JSON: the deciding half of a submission.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "codec/json_lists.h"
#include "codec/json_parts.h"
#include "codec/quantity.h"
#include "codec/words.h"
#include "model/job_fields.h"

namespace dove::codec {
namespace {

constexpr std::size_t kGroupsMax = 64;
constexpr std::int64_t kTasksMax = 100'000;
constexpr std::size_t kDependenciesMax = 1024;
constexpr std::size_t kArrayElementsMax = 100'000;
constexpr std::int64_t kArrayIndexMax = 4'194'303;

// The fields of a group that may stand at the top of a submission, besides those of a request.
constexpr std::string_view kGroupFields[] = {"tasks",          "nodes",    "nodes_min", "nodes_max",
                                             "tasks_per_node", "per_task", "per_node"};

void read_groups(JsonFields& fields, std::vector<TaskGroup>& groups) {
  if (!fields.has("groups")) {
    TaskGroup group;
    read_group(fields, group);
    groups = {group};
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
  groups.clear();
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
    groups.push_back(std::move(group));
  });
  if (groups.empty()) fields.fail("groups", "missing_field", "give at least one group");
  if (tasks > kTasksMax) {
    fields.fail("groups", "too_many",
                fmt::format("{} tasks are over the limit of {}", tasks, kTasksMax));
  }
}

void read_dependencies(JsonFields& fields, std::vector<Dependency>& dependencies) {
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
    dependencies.push_back(dependency);
  });
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

// {"about": [...], "to": "..."} as "mail", in place of "mail_about" and "mail_to".
void read_mail(JsonFields& fields, JobSpec& v) {
  if (fields.has("mail") && (fields.has("mail_about") || fields.has("mail_to"))) {
    return fields.fail("mail", "given_twice", "give mail, or mail_about and mail_to");
  }
  fields.object("mail", [&](JsonFields& inner) {
    read_notice_subjects(inner, "about", v.mail_about);
    inner.text("to", v.mail_to);
  });
}

}  // namespace

Json json_of(const std::vector<TaskGroup>& groups) {
  Json all = Json::array();
  for (const TaskGroup& group : groups) all.push_back(group_json(group));
  return all;
}

Json json_of(const std::vector<Countable>& amounts) { return countables_json(amounts); }

Json json_of(const std::vector<Dependency>& dependencies) {
  Json all = Json::array();
  for (const Dependency& dependency : dependencies) {
    Json one{{"kind", word(dependency.kind)}};
    if (dependency.job) one["job"] = dependency.job.value;
    if (dependency.delay.us != 0) put_span(one, "delay", dependency.delay);
    all.push_back(std::move(one));
  }
  return all;
}

Json json_of(const ArraySpec& array) {
  if (array.indices.empty()) return Json::object();
  return {{"indices", array.indices}, {"running_max", array.running_max}};
}

Json json_of(const std::vector<NoticeAbout>& about) { return notice_subjects_json(about); }

Json json_of(const std::vector<SecretUse>& secrets) {
  Json all = Json::array();
  for (const SecretUse& use : secrets) {
    Json one{{"secret", use.secret}};
    if (!use.variable.empty()) one["variable"] = use.variable;
    if (!use.file.empty()) one["file"] = use.file;
    all.push_back(std::move(one));
  }
  return all;
}

void take(JsonFields& fields, const char* /*name*/, std::vector<TaskGroup>& groups) {
  read_groups(fields, groups);
}
void take(JsonFields& fields, const char* /*name*/, std::vector<Dependency>& dependencies) {
  read_dependencies(fields, dependencies);
}
void take(JsonFields& fields, const char* /*name*/, ArraySpec& array) { read_array(fields, array); }
void take(JsonFields& fields, const char* name, std::vector<NoticeAbout>& about) {
  read_notice_subjects(fields, name, about);
}
void take(JsonFields& fields, const char* /*name*/, std::vector<SecretUse>& secrets) {
  read_secrets(fields, secrets);
}

Json spec_json(const JobSpec& v) {
  Json object = Json::object();
  JsonPut put(object);
  job_fields(put, v);
  return object;
}

void read_spec(JsonFields& fields, JobSpec& v) {
  JsonTake take(fields);
  job_fields(take, v);
  read_mail(fields, v);
  if (v.domain_required && v.domain.empty()) {
    fields.fail("domain_required", "missing_field",
                "name the level of the topology that is required with domain");
  }
}

}  // namespace dove::codec
