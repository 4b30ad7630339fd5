#include "server/settings/job_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "core/admit/admit.h"
#include "core/state/holders/holders.h"
#include "server/executors/executor_jobs.h"
#include "server/executors/routes.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

// What a job is, as against how it is run; and amounts, which limits bound.
constexpr std::array<std::string_view, 14> kNotForSettings{
    "name",  "project",  "command",  "script", "script_arguments", "launch",         "groups",
    "array", "begin_at", "deadline", "hold",   "dependencies",     "any_dependency", "source_name"};

// A field as a submission is written: `key` is its name there ("time_limit_s").
struct Said {
  std::string key;
  Json value;
};
// By the name that people use ("time_limit"); entries of maps are "environment.NAME".
using Fields = std::map<std::string, Said>;

Json whole(const Said& said) {
  if (!said.key.ends_with("_s") || !said.value.is_number_integer()) return said.value;
  return said.value.get<std::int64_t>() * 1'000'000;
}

bool same(const Said& a, const Said& b) { return whole(a) == whole(b); }

std::string name_of(std::string key) {
  for (const std::string_view suffix : {"_us", "_s", "_bytes"}) {
    if (!key.ends_with(suffix)) continue;
    key.resize(key.size() - suffix.size());
    break;
  }
  return key;
}

bool is_map(const std::string& name) { return name == "environment" || name == "labels"; }

Fields fields_of(const Json& submission) {
  Fields fields;
  for (const auto& [key, value] : submission.items()) {
    const std::string name = name_of(key);
    if (!is_map(name)) {
      fields[name] = {key, value};
      continue;
    }
    for (const auto& [entry, text] : value.items()) fields[name + "." + entry] = {key, text};
  }
  return fields;
}

const Fields& of_nothing() {
  static const Fields kFields = [] {
    const auto read = codec::read_submission(Json{{"command", {"true"}}});
    return fields_of(codec::write_submission(*read));
  }();
  return kFields;
}

bool says_nothing(const Fields& fields, const std::string& name) {
  const auto said = fields.find(name);
  const auto nothing = of_nothing().find(name);
  if (said == fields.end()) return nothing == of_nothing().end();
  return nothing != of_nothing().end() && same(said->second, nothing->second);
}

void put(Json& submission, const std::string& name, const Said& said) {
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos && is_map(name.substr(0, dot))) {
    submission[name.substr(0, dot)][name.substr(dot + 1)] = said.value;
    return;
  }
  for (const char* suffix : {"", "_us", "_s", "_bytes"}) submission.erase(name + suffix);
  submission[said.key] = said.value;
}

std::string shown(const Fields& fields, const std::string& name) {
  const auto said = fields.find(name);
  return said == fields.end() ? "none" : said->second.value.dump();
}

// Settings as they are applied.
struct Rule {
  const Settings* settings;
  Fields fields;  // that say something
  std::set<std::string> locked;
  std::vector<Route> routes;  // of `executor`, which is then the first one's; empty: there are none
};

constexpr const char kExecutor[] = "executor";

std::string level_text(const Settings& settings) {
  if (!settings.project.empty()) return "project " + settings.project;
  return settings.domain.empty() ? "the cluster" : "domain " + settings.domain;
}

std::string text_of(const Settings& settings) {
  return fmt::format("settings \"{}\" of {}", settings.name, level_text(settings));
}

Error at(const char* code, std::string message, std::string field) {
  return Error{ErrorKind::kInvalid, code, std::move(message), std::move(field)};
}

Error in_job(Error error) {
  error.field = "job." + error.field;
  return error;
}

// REQUIRES: checked when it was declared, else its fields may be empty.
Result<Rule> read_rule(const Settings& settings) {
  Json given = settings.job.empty() ? Json::object() : Json::parse(settings.job, nullptr, false);
  for (const auto& [key, value] : given.items()) {
    const bool is_not = std::any_of(kNotForSettings.begin(), kNotForSettings.end(),
                                    [&](std::string_view each) { return name_of(key) == each; });
    if (!is_not) continue;
    return at("not_a_setting", fmt::format("{} is each job's own: leave it out", key),
              "job." + key);
  }
  std::vector<Route> routes;
  if (given.contains(kExecutor) && given[kExecutor].is_object()) {
    Result<std::vector<Route>> read = read_routes(given[kExecutor]);
    if (!read.ok()) return in_job(read.error());
    routes = std::move(read).value();
    given[kExecutor] = routes.front().executor;
  }
  Json with_command = given;
  with_command["command"] = {"true"};
  auto read = codec::read_submission(with_command);
  if (!read.ok()) return in_job(read.error());
  Rule rule{&settings, {}, {}, std::move(routes)};
  const Fields all = fields_of(codec::write_submission(*read));
  if (!says_nothing(all, "groups")) {
    return at("not_a_setting",
              "what a job asks for is its own: leave out tasks, nodes, cores, gpus and memory; "
              "limits bound them",
              "job");
  }
  std::set<std::string> known;
  for (const auto& [key, value] : given.items()) known.insert(name_of(key));
  for (const auto& [name, said] : all) {
    if (!says_nothing(all, name)) rule.fields.emplace(name, said);
    if (!known.contains(name.substr(0, name.find('.')))) continue;
    rule.fields.emplace(name, said);
  }
  for (std::size_t i = 0; i < settings.locked.size(); ++i) {
    const std::string name = name_of(settings.locked[i]);
    bool found = false;
    for (const auto& [field, said] : rule.fields) {
      if (field != name && !(is_map(name) && field.starts_with(name + "."))) continue;
      rule.locked.insert(field);
      found = true;
    }
    if (name == kExecutor && !rule.routes.empty()) {
      return at("bad_route", "shares of jobs cannot be locked: leave `executor` out of `locked`",
                fmt::format("locked[{}]", i));
    }
    if (found) continue;
    return at("locks_nothing",
              fmt::format("{} is locked and has no value: give it in `job`", settings.locked[i]),
              fmt::format("locked[{}]", i));
  }
  return rule;
}

// 0: the cluster, 1: a domain, 2: a project.
int depth(const Settings& settings) {
  return !settings.project.empty() ? 2 : !settings.domain.empty() ? 1 : 0;
}

bool is_same_level(const Settings& a, const Settings& b) {
  return a.domain == b.domain && a.project == b.project;
}

bool is_above(const core::State& state, const Settings& upper, const Settings& lower) {
  if (depth(upper) >= depth(lower)) return false;
  if (depth(upper) == 0) return true;
  const auto project = state.projects.find(lower.project);
  return project != state.projects.end() && project->second.domain == upper.domain;
}

// The settings that hold for such jobs, widest level first.
std::vector<Rule> rules_for(const core::State& state, const JobSpec& spec) {
  const std::string domain = core::domain_of(state, spec);
  std::vector<Rule> rules;
  for (const auto& [name, settings] : state.job_settings) {
    const bool holds =
        depth(settings) == 0 ||
        (depth(settings) == 1 ? settings.domain == domain : settings.project == spec.project);
    if (!holds) continue;
    if (auto rule = read_rule(settings); rule.ok()) rules.push_back(std::move(rule).value());
  }
  std::stable_sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) {
    return depth(*a.settings) < depth(*b.settings);
  });
  return rules;
}

// The fields of `rule` that `other`, which is above it, has locked.
std::vector<std::string> locked_above(const Rule& rule, const Rule& other) {
  std::vector<std::string> names;
  for (const auto& [name, said] : rule.fields) {
    if (other.locked.contains(name)) names.push_back(name);
  }
  return names;
}

// What the body says now; whose it is stays.
Result<codec::Submission> read_again(const Json& body, const codec::Submission& submission,
                                     const std::vector<std::string>& texts) {
  if (texts.empty()) return submission;
  auto read = codec::read_submission(body);
  if (!read.ok()) {
    Error error = read.error();
    error.message += fmt::format(" (with {})", fmt::join(texts, ", "));
    return error;
  }
  read->spec.user = submission.spec.user;
  read->spec.parent = submission.spec.parent;
  return read;
}

// Jobs whose executor is not there would be refused one by one, or stay with our agents unseen.
Result<void> check_executors(const core::State& state, const Rule& rule) {
  std::vector<std::string> names;
  for (const Route& each : rule.routes) names.push_back(each.executor);
  const auto said = rule.fields.find(kExecutor);
  if (names.empty() && said != rule.fields.end()) names.push_back(said->second.value);
  for (const std::string& name : names) {
    const auto executor = state.executors.find(name);
    if (name.empty() || (executor != state.executors.end() && executor->second.runs_jobs)) continue;
    return at("executor_unknown",
              fmt::format("there is no executor \"{}\" that runs jobs: declare it with "
                          "`runs_jobs: true` before",
                          name),
              "job.executor");
  }
  return {};
}

bool can_run(const core::State& state, const codec::Submission& submission) {
  return check_executor_exec(submission.spec, submission.exec).ok() &&
         core::admit(state, submission.spec).ok();
}

}  // namespace

Result<void> check_settings(const core::State& state, const Settings& settings) {
  if (!settings.domain.empty() && !state.domains.contains(settings.domain)) {
    return at("domain_unknown", fmt::format("there is no domain \"{}\"", settings.domain),
              "domain");
  }
  if (!settings.project.empty() && !state.projects.contains(settings.project)) {
    return at("project_unknown", fmt::format("there is no project \"{}\"", settings.project),
              "project");
  }
  TRY_ASSIGN(const Rule rule, read_rule(settings));
  TRY(check_executors(state, rule));
  for (const auto& [name, other] : state.job_settings) {
    if (name == settings.name) continue;
    const auto theirs = read_rule(other);
    if (!theirs.ok()) continue;
    if (is_same_level(settings, other)) {
      for (const auto& [field, said] : rule.fields) {
        if (!theirs->fields.contains(field)) continue;
        return Error{ErrorKind::kConflict, "setting_twice",
                     fmt::format("{} give {} already: leave it out of one of the two",
                                 text_of(other), field),
                     "job"};
      }
    }
    if (!is_above(state, other, settings)) continue;
    for (const std::string& field : locked_above(rule, *theirs)) {
      if (!rule.locked.contains(field)) continue;
      return Error{ErrorKind::kConflict, "setting_locked",
                   fmt::format("{} is locked by {}: leave it out here", field, text_of(other)),
                   "locked"};
    }
  }
  return {};
}

std::vector<std::string> settings_warnings(const core::State& state, const Settings& settings) {
  std::vector<std::string> out;
  const auto rule = read_rule(settings);
  if (!rule.ok()) return out;
  for (const auto& [name, other] : state.job_settings) {
    const auto theirs = read_rule(other);
    if (name == settings.name || !theirs.ok()) continue;
    if (is_above(state, other, settings)) {
      for (const std::string& field : locked_above(*rule, *theirs)) {
        out.push_back(fmt::format("{} has no effect: {} lock it", field, text_of(other)));
      }
    }
    if (is_above(state, settings, other)) {
      for (const std::string& field : locked_above(*theirs, *rule)) {
        out.push_back(fmt::format("{} of {} has no effect now", field, text_of(other)));
      }
    }
  }
  return out;
}

Result<codec::Submission> with_settings(const core::State& state, codec::Submission submission,
                                        std::uint64_t turn, std::vector<std::string>& applied) {
  const std::vector<Rule> rules = rules_for(state, submission.spec);
  if (rules.empty()) return submission;
  Json body = codec::write_submission(submission);
  const Fields given = fields_of(body);
  std::map<std::string, const Rule*> taken;  // who says it
  for (const Rule& rule : rules) {
    for (const std::string& name : rule.locked) {
      if (!taken.emplace(name, &rule).second) continue;
      const auto said = given.find(name);
      if (says_nothing(given, name) ||
          (said != given.end() && same(said->second, rule.fields.at(name)))) {
        continue;
      }
      return Error{
          ErrorKind::kDenied, "setting_locked",
          fmt::format("{} is {} here, and {} lock it as {}: leave it out", name, shown(given, name),
                      text_of(*rule.settings), shown(rule.fields, name)),
          name};
    }
  }
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
    for (const auto& [name, said] : rule->fields) {
      if (says_nothing(given, name)) taken.emplace(name, &*rule);
    }
  }
  const auto routed = taken.find(kExecutor);
  const Rule* routes =
      routed == taken.end() || routed->second->routes.empty() ? nullptr : routed->second;
  if (routes != nullptr) taken.erase(routed);
  std::vector<std::string> texts;
  for (const auto& [name, rule] : taken) {
    const Said& said = rule->fields.at(name);
    const auto before = given.find(name);
    if (before != given.end() && same(before->second, said)) continue;
    put(body, name, said);
    texts.push_back(fmt::format("{} = {} ({})", name, said.value.dump(), text_of(*rule->settings)));
  }
  TRY_ASSIGN(codec::Submission read, read_again(body, submission, texts));
  if (routes != nullptr) {
    read.spec.executor = route(routes->routes, read.spec, turn);
    if (!read.spec.executor.empty() && !can_run(state, read)) read.spec.executor.clear();
    if (!read.spec.executor.empty()) {
      texts.push_back(
          fmt::format("executor = \"{}\" ({})", read.spec.executor, text_of(*routes->settings)));
    }
  }
  if (!texts.empty()) {
    applied.push_back(
        fmt::format("settings say what the job left out: {}", fmt::join(texts, ", ")));
  }
  return read;
}

}  // namespace dove::server
