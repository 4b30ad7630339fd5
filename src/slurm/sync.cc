#include "slurm/sync.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/quantity.h"
#include "model/executor.h"
#include "slurm/gres.h"
#include "slurm/node_inventory.h"
#include "slurm/works/works_json.h"
#include "text/hostlist.h"
#include "text/utf8.h"

namespace dove::slurm {
namespace {

using nlohmann::json;

constexpr std::size_t kWantedMax = 1'000'000;
constexpr std::size_t kDrainsMax = 200'000;
constexpr std::size_t kMachinesMax = 100'000;
constexpr std::size_t kPartsMax = 1'000;
constexpr std::size_t kPartitionsMax = 1'000;
constexpr std::size_t kHostlistsMax = 100'000;
constexpr TextRule kHostlistRule{4096, TextRule::Kind::kLine};
constexpr std::int64_t kNumberMax = std::int64_t{1} << 53;
constexpr std::int64_t kCoresMax = 65'536;
constexpr std::size_t kLineBytesMax = 256;
constexpr std::int64_t kMinute_s = 60;
constexpr std::size_t kReservationsMax = 10'000;
constexpr TextRule kIdRule{128, TextRule::Kind::kName};
// The features of a node, as the controller takes them.
constexpr std::size_t kFeaturesMax = 64;
constexpr TextRule kFeatureRule{64, TextRule::Kind::kFeature};

json time_json(std::int64_t at_s) {
  if (at_s <= 0) return nullptr;
  return codec::rfc3339(Instant{at_s * 1'000'000});
}

// What users and Slurm wrote, as the controller takes it: one line, not too long.
std::string line_of(std::string_view text) {
  std::string line(text.substr(0, text::utf8_bytes(text.substr(0, kLineBytesMax))));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

const char* node_word(NodeSeen::State state) {
  switch (state) {
    case NodeSeen::State::kUp:
      return "up";
    case NodeSeen::State::kDrained:
      return "drained";
    case NodeSeen::State::kDown:
      return "down";
  }
  return "";
}

// Nobody has them, and nobody may be given them: for the ledger that is an allocation.
void add_kept(const KeptCores& kept, json& list) {
  const std::string id = std::string(kKept_begin) + kept.reservation;
  if (codec::check_text(id, kIdRule).has_value()) return;
  json one{{"id", id},
           {"node", kept.node},
           {"cores", kept.cores},
           {"devices", json::array()},
           {"memory_bytes", 0},
           {"name", kept.reservation},
           {"ends_by", time_json(kept.ends_s)}};
  // As with one of whole nodes; one that has begun says no instant.
  if (kept.starts_s > 0) one["started_at"] = time_json(kept.starts_s - kMinute_s);
  list.push_back(std::move(one));
}

void add_allocations(const JobSeen& job, json& list) {
  for (const NodeAllocation& held : job.allocations) {
    json one{{"id", std::to_string(job.id)},
             {"node", held.node},
             {"cores", held.cores},
             {"devices", held.devices},
             {"memory_bytes", held.memory_bytes},
             {"user", line_of(job.user)},
             {"account", line_of(job.account)},
             {"name", line_of(job.name)},
             {"partition", line_of(job.partition)},
             {"priority", job.priority},
             {"started_at", time_json(job.started_s)},
             {"ends_by", time_json(job.ends_s)}};
    if (job.may_requeue) one["may_requeue"] = true;
    list.push_back(std::move(one));
  }
}

// One that no job can name here would keep the whole report from being taken.
json features_json(const std::vector<std::string>& features) {
  json list = json::array();
  for (const std::string& feature : features) {
    const bool can_be_named = !codec::check_text(feature, kFeatureRule).has_value();
    if (can_be_named && list.size() < kFeaturesMax) list.push_back(feature);
  }
  return list;
}

json node_json(const NodeSeen& node, bool has_agent) {
  json object{{"name", node.name},
              {"state", node_word(node.state)},
              {"reason", line_of(node.reason)},
              {"features", features_json(node.features)}};
  if (!has_agent) object["inventory"] = inventory_json(node);
  return object;
}

// Slurm takes no limit that crosses the begin of one, and a limit is in whole minutes.
json reservation_json(const ReservationSeen& one) {
  return {{"name", line_of(one.name)},
          {"nodes", {one.nodes}},
          {"starts_at", time_json(one.starts_s - kMinute_s)},
          {"ends_at", time_json(one.ends_s)}};
}

json past_json(const PastPart& past) {
  json jobs = json::array();
  for (const PastUse& use : past.uses) {
    jobs.push_back({{"id", std::to_string(use.id)},
                    {"account", line_of(use.account)},
                    {"started_at", time_json(use.started_s)},
                    {"ended_at", time_json(use.ended_s)},
                    {"cores", use.cores},
                    {"gpus_milli", use.gpus_milli},
                    {"memory_bytes", use.memory_bytes}});
  }
  return {{"gap", codec::rfc3339(past.of.until)},
          {"from", codec::rfc3339(past.of.from)},
          {"until", codec::rfc3339(past.until)},
          {"jobs", std::move(jobs)}};
}

json placeholder_json(const PlaceholderReport& report) {
  return {{"job", report.key.job},
          {"attempt", report.key.attempt},
          {"node", report.key.node},
          {"id", report.id == 0 ? std::string() : std::to_string(report.id)},
          {"state", word(report.state)},
          {"why", line_of(report.why)},
          {"devices", report.devices},
          {"cores", report.cores}};
}

void read_wanted(codec::JsonFields& fields, Wanted& wanted) {
  fields.allow_unknown();
  read_key(fields, wanted.key);
  fields.integers("cores", wanted.cores, 0, kCoresMax, kCoresMax);
  fields.integers("devices", wanted.devices, 0, kDevicesMax, kDevicesMax);
  fields.integer("memory_bytes", wanted.memory_bytes, 0, std::int64_t{1} << 60);
  Instant until;
  fields.instant("until", until);
  wanted.until_s = until == kNever ? 0 : (until.us + 999'999) / 1'000'000;
  fields.text("user", wanted.user);
  fields.text("name", wanted.name);
  fields.boolean("runs", wanted.runs);
  fields.text("foreign_job", wanted.foreign_job);
  std::string id;
  fields.text("id", id);
  std::from_chars(id.data(), id.data() + id.size(), wanted.held_by);
}

void read_lent(codec::JsonFields& fields, Lent& lent) {
  fields.allow_unknown();
  fields.texts("nodes", lent.nodes, kHostlistRule, kHostlistsMax);
  fields.objects("parts", kPartsMax, [&](codec::JsonFields& inner, std::size_t) {
    Lent::Part& part = lent.parts.emplace_back();
    inner.allow_unknown();
    inner.texts("nodes", part.nodes, kHostlistRule, kHostlistsMax);
    inner.integers("devices", part.devices, 0, kDevicesMax, kDevicesMax);
  });
}

void read_kept(codec::JsonFields& fields, DevicesOfNodes& kept) {
  fields.allow_unknown();
  std::string node;
  std::vector<int> devices;
  fields.text("node", node, kNameRule);
  fields.integers("devices", devices, 0, kDevicesMax, kDevicesMax);
  if (node.empty()) return fields.fail("node", "missing_field", "names no node");
  kept[node].insert(devices.begin(), devices.end());
}

void read_put_back(codec::JsonFields& fields, PutBack& one) {
  fields.allow_unknown();
  std::string id;
  fields.text("id", id);
  fields.integer("job", one.job, 0, kNumberMax);
  std::from_chars(id.data(), id.data() + id.size(), one.id);
}

void read_machine(codec::JsonFields& fields, Machine& machine) {
  fields.allow_unknown();
  std::vector<std::string> lists;
  fields.texts("nodes", lists, kHostlistRule, kHostlistsMax);
  for (const std::string& list : lists) {
    for (std::string& name : text::expand_hostlist(list)) machine.nodes.push_back(std::move(name));
  }
  fields.integer("cores", machine.cores, 0, kCoresMax);
  fields.integer("threads_per_core", machine.threads_per_core, 1, kCoresMax);
  fields.integer("cores_reserved", machine.cores_reserved, 0, kCoresMax);
}

}  // namespace

std::string write_request(const SyncRequest& request) {
  json nodes = json::array();
  for (const NodeSeen& node : request.nodes) {
    nodes.push_back(node_json(node, !text::any_hostlist_holds(request.agentless, node.name)));
  }
  json allocations = json::array();
  for (const JobSeen& job : request.foreign) add_allocations(job, allocations);
  for (const KeptCores& one : request.kept_cores) add_kept(one, allocations);
  json reservations = json::array();
  for (const ReservationSeen& one : request.reservations) {
    if (reservations.size() == kReservationsMax) break;
    reservations.push_back(reservation_json(one));
  }
  json placeholders = json::array();
  for (const PlaceholderReport& one : request.placeholders) {
    placeholders.push_back(placeholder_json(one));
  }
  json object{{"incarnation", request.incarnation},
              {"number", request.number},
              {"seen", request.seen},
              {"wait_s", request.wait_s},
              {"complete", request.complete},
              {"allocations", std::move(allocations)},
              {"placeholders", std::move(placeholders)},
              {"reservations", std::move(reservations)},
              {"works", works_json(request.works)},
              {"nodes", std::move(nodes)}};
  // Asked for alone: a controller of a former version would refuse it.
  if (request.past) object["past"] = past_json(*request.past);
  return codec::dump_json(object);
}

Result<SyncAnswer> read_answer(std::string_view body) {
  TRY_ASSIGN(const json value, codec::parse_json(body, kAnswerBytesMax));
  SyncAnswer answer;
  codec::Failure failure;
  codec::JsonFields fields(value, "", failure);
  fields.allow_unknown();
  if (!fields.has("wanted")) fields.fail("wanted", "missing_field", "does not say what is wanted");
  fields.integer("version", answer.version, 0, kNumberMax);
  fields.integer("level", answer.level, kFirstLevel, kNumberMax);
  fields.objects("wanted", kWantedMax, [&](codec::JsonFields& inner, std::size_t) {
    read_wanted(inner, answer.wanted.emplace_back());
  });
  fields.objects("works", kWantedMax, [&](codec::JsonFields& inner, std::size_t) {
    read_work(inner, answer.works.emplace_back());
  });
  fields.objects("drains", kDrainsMax, [&](codec::JsonFields& inner, std::size_t) {
    WantedDrain& drain = answer.drains.emplace_back();
    inner.allow_unknown();
    inner.text("node", drain.node, kNameRule);
    inner.text("why", drain.why);
    drain.why = line_of(drain.why);
    if (drain.node.empty()) inner.fail("node", "missing_field", "names no node");
  });
  fields.object("lent", [&](codec::JsonFields& inner) { read_lent(inner, answer.lent); });
  fields.objects("machines", kMachinesMax, [&](codec::JsonFields& inner, std::size_t) {
    read_machine(inner, answer.machines.emplace_back());
  });
  fields.object("unwatched", [&](codec::JsonFields& inner) {
    Unwatched& unwatched = answer.unwatched.emplace();
    inner.allow_unknown();
    inner.instant("from", unwatched.from);
    inner.instant("until", unwatched.until);
  });
  fields.objects("put_backs", kWantedMax, [&](codec::JsonFields& inner, std::size_t) {
    read_put_back(inner, answer.put_backs.emplace_back());
  });
  fields.objects("kept", kWantedMax,
                 [&](codec::JsonFields& inner, std::size_t) { read_kept(inner, answer.kept); });
  if (fields.has("yields_to")) {
    fields.texts("yields_to", answer.yields_to.emplace(), kNameRule, kPartitionsMax);
  }
  if (failure.any()) return failure.error();
  return answer;
}

}  // namespace dove::slurm
