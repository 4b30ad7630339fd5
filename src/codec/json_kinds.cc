// Executors, templates, secrets and targets of notices as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "codec/json.h"
#include "codec/json_parts.h"
#include "codec/words.h"
#include "model/job_fields.h"

namespace dove::codec {
namespace {

constexpr std::size_t kAccountsMax = 10'000;  // of an executor
constexpr std::size_t kLendableMax = 1'000;
constexpr std::size_t kPartitionsMax = 1'000;
constexpr std::size_t kDevicesMax = 1'024;  // of a node
constexpr std::int64_t kCoresMax = 1'000'000;
constexpr std::size_t kTemplateBytesMax = 64 << 10;
constexpr std::size_t kLockedMax = 64;
constexpr std::size_t kSealedBytesMax = 128 << 10;
// The name of a domain or a project; "": none.
constexpr TextRule kLevelRule{256, TextRule::Kind::kLine};

// Fields of a submission; kept as text, because the server knows what they may be.
void read_job(JsonFields& fields, std::string& job) {
  const Json* value = fields.find("job");
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fields.fail("job", "bad_type", "is an object with fields of a job");
  }
  std::string text = dump_json(*value);
  if (text.size() > kTemplateBytesMax) {
    return fields.fail("job", "too_long",
                       fmt::format("over the limit of {} bytes", kTemplateBytesMax));
  }
  job = std::move(text);
}

Json job_json(const std::string& job) {
  return job.empty() ? Json::object() : Json::parse(job, nullptr, false);
}

void read_level(JsonFields& fields, std::string& domain, std::string& project) {
  fields.text("domain", domain, kLevelRule);
  fields.text("project", project, kLevelRule);
  if (!domain.empty() && !project.empty()) {
    fields.fail("domain", "given_twice", "a project has its own domain: leave out one of them");
  }
}

Json write(const Lendable& v) {
  Json object{{"nodes", v.nodes}, {"devices", v.devices}};
  if (v.cores >= 0) object["cores"] = v.cores;
  if (v.memory_bytes >= 0) object["memory_bytes"] = v.memory_bytes;
  return object;
}

void read(JsonFields& fields, Lendable& v) {
  fields.texts("nodes", v.nodes, {1024, TextRule::Kind::kName}, kNodesListedMax);
  if (v.nodes.empty()) fields.fail("nodes", "missing_field", "name the nodes");
  fields.integers("devices", v.devices, 0, kDevicesMax - 1, kDevicesMax);
  std::sort(v.devices.begin(), v.devices.end());
  v.devices.erase(std::unique(v.devices.begin(), v.devices.end()), v.devices.end());
  fields.integer("cores", v.cores, 0, kCoresMax);
  fields.bytes("memory", v.memory_bytes, -1);
}

}  // namespace

Json notice_subjects_json(const std::vector<NoticeAbout>& about) {
  Json out = Json::array();
  for (const NoticeAbout each : about) out.push_back(word(each));
  return out;
}

void read_notice_subjects(JsonFields& fields, std::string_view field,
                          std::vector<NoticeAbout>& about) {
  std::vector<std::string> names;
  fields.texts(field, names, kNameRule, notice_subjects().size());
  about.clear();
  for (const std::string& each : names) {
    const auto found = std::find(notice_subjects().begin(), notice_subjects().end(), each);
    if (found == notice_subjects().end()) {
      return fields.fail(
          field, "bad_value",
          fmt::format("write a list of some of {}", fmt::join(notice_subjects(), ", ")));
    }
    about.push_back(static_cast<NoticeAbout>(found - notice_subjects().begin()));
  }
  std::sort(about.begin(), about.end());
  about.erase(std::unique(about.begin(), about.end()), about.end());
}

Json write(const NoticeTarget& v) {
  return {{"by", word(v.by)}, {"to", v.to}, {"about", notice_subjects_json(v.about)}};
}

void read(JsonFields& fields, NoticeTarget& v) {
  if (const int by = fields.one_of("by", notice_ways()); by >= 0) v.by = static_cast<NoticeBy>(by);
  fields.text("to", v.to, {1024, TextRule::Kind::kLine});
  read_notice_subjects(fields, "about", v.about);
}

Json write(const Executor& v) {
  Json lendable = Json::array();
  for (const Lendable& each : v.lendable) lendable.push_back(write(each));
  return {{"name", v.name},           {"service_account", v.service_account},
          {"nodes", v.nodes},         {"placeholders", v.placeholders},
          {"queues", v.queues},       {"gate", v.gate},
          {"runs_jobs", v.runs_jobs}, {"lendable", std::move(lendable)},
          {"preempts", v.preempts},   {"yields_to", v.yields_to}};
}

void read(JsonFields& fields, Executor& v) {
  fields.text("service_account", v.service_account, kLevelRule);
  fields.texts("nodes", v.nodes, {1024, TextRule::Kind::kName}, kNodesListedMax);
  fields.boolean("placeholders", v.placeholders);
  fields.text_map("queues", v.queues, kNameRule, kLevelRule, kAccountsMax);
  fields.boolean("gate", v.gate);
  fields.boolean("runs_jobs", v.runs_jobs);
  if (fields.has("lendable")) v.lendable.clear();
  fields.objects("lendable", kLendableMax,
                 [&](JsonFields& inner, std::size_t) { read(inner, v.lendable.emplace_back()); });
  const auto read_partitions = [&fields](const char* name, std::vector<std::string>& list) {
    fields.texts(name, list, kNameRule, kPartitionsMax);
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  read_partitions("preempts", v.preempts);
  read_partitions("yields_to", v.yields_to);
  if (v.nodes.empty()) fields.fail("nodes", "missing_field", "name the nodes that it runs work on");
}

Json write(const App& v) {
  return {{"name", v.name},
          {"title", v.title},
          {"domain", v.domain},
          {"project", v.project},
          {"job", job_json(v.job)}};
}

void read(JsonFields& fields, App& v) {
  fields.text("title", v.title);
  read_level(fields, v.domain, v.project);
  read_job(fields, v.job);
}

Json write(const Settings& v) {
  return {{"name", v.name},
          {"domain", v.domain},
          {"project", v.project},
          {"job", job_json(v.job)},
          {"locked", v.locked}};
}

void read(JsonFields& fields, Settings& v) {
  read_level(fields, v.domain, v.project);
  read_job(fields, v.job);
  fields.texts("locked", v.locked, kNameRule, kLockedMax);
  std::sort(v.locked.begin(), v.locked.end());
  v.locked.erase(std::unique(v.locked.begin(), v.locked.end()), v.locked.end());
}

Json write(const Secret& v) {
  Json object{{"name", v.name}, {"user", v.user}, {"project", v.project}, {"sealed", v.sealed}};
  put_instant(object, "set_at", v.set_at);
  return object;
}

void read(JsonFields& fields, Secret& v) {
  fields.text("user", v.user, kLevelRule);
  fields.text("project", v.project, kLevelRule);
  fields.text("sealed", v.sealed, {kSealedBytesMax, TextRule::Kind::kLine});
  fields.instant("set_at", v.set_at);
}

}  // namespace dove::codec
