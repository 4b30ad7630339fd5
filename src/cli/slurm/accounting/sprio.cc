// sprio under its own name: what the priorities of waiting jobs are made of, the job's own and its
// queue's.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/client/pages.h"
#include "cli/commands/job_list.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/amounts.h"
#include "cli/slurm/format.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "%.15i %9r %.10Y %.10S %.10q";
constexpr const char* kLongFormat =
    "%.15i %9r %.8u %.10Y %.10S %.10a %.10b %.10f %.10j %.10p %.10q %.11n %.20T";

const std::map<char, const char*>& titles() {
  static const std::map<char, const char*> kTitles = {
      {'a', "AGE"},       {'A', "AGE"},       {'b', "ASSOC"},     {'B', "ASSOC"},
      {'c', "CLUSTER"},   {'f', "FAIRSHARE"}, {'F', "FAIRSHARE"}, {'i', "JOBID"},
      {'j', "JOBSIZE"},   {'J', "JOBSIZE"},   {'n', "NICE"},      {'N', "NICE"},
      {'p', "PARTITION"}, {'P', "PARTITION"}, {'q', "QOS"},       {'Q', "QOS"},
      {'r', "PARTITION"}, {'S', "SITE"},      {'t', "TRES"},      {'T', "TRES"},
      {'u', "USER"},      {'y', "PRIORITY"},  {'Y', "PRIORITY"}};
  return kTitles;
}

std::string title_of(char field) {
  const auto found = titles().find(field);
  return found == titles().end() ? "" : found->second;
}

constexpr const char* kWeightsFormat = "%.15i %9r %.10Y %.10S %.10a %.10f %.10j %.10q";

// In the columns of their parts. Other orders than multifactor add up priorities alone.
Result<std::string> weights_line(Api& api, const std::vector<FormatPiece>& pieces) {
  TRY_ASSIGN(const json objects, api.get("/v1/objects?kind=Cluster"));
  const json& list = items_of(objects, "objects");
  const json settings = list.empty() ? json::object() : list[0];
  const bool sums = text_of(settings, "order") == "multifactor";
  const json weights = sums ? settings.value("multifactor", json::object())
                            : json{{"priority", 1}, {"queue_priority", 1}};
  const auto points = [&](const char* name) { return std::to_string(number_of(weights, name)); };
  return format_line(pieces,
                     [&](char field) -> std::string {
                       switch (field) {
                         case 'i':
                           return "Weights";
                         case 'a':
                         case 'A':
                           return points("age");
                         case 'f':
                         case 'F':
                           return points("fair_share");
                         case 'j':
                         case 'J':
                           return points("size");
                         case 'S':
                           return points("priority");
                         case 'q':
                         case 'Q':
                           return points("queue_priority");
                         default:
                           return "";
                       }
                     }) +
         "\n";
}

struct Priority {
  JobView job;
  std::int64_t of_queue = 0;
  std::string cluster;
};

// The job's own priority stands where Slurm has the site's.
std::string field_of(const Priority& priority, char field) {
  const std::int64_t own = priority.job.priority;
  switch (field) {
    case 'i':
      return priority.job.id;
    case 'u':
      return priority.job.user;
    case 'r':
      return slurm_partition(priority.job);
    case 'c':
      return priority.cluster;
    case 'Y':
    case 'y':
      return std::to_string(own + priority.of_queue);
    case 'S':
      return std::to_string(own);
    case 'q':
    case 'Q':
      return std::to_string(priority.of_queue);
    case 't':
    case 'T':
      return "";
    default:
      return "0";
  }
}

Result<std::vector<Priority>> read_priorities(Api& api, const Invocation& invocation) {
  JobFilter filter;
  filter.states = {"waiting"};
  filter.users = comma_list(invocation.get("user"));
  filter.ids = comma_list(invocation.get("jobs"));
  TRY_ASSIGN(const std::vector<json> found, list_jobs(api, filter));
  TRY_ASSIGN(const json queues, get_all(api, "/v1/queues", "queues"));
  TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
  std::map<std::string, std::int64_t> of_queue;
  for (const json& queue : items_of(queues, "queues")) {
    of_queue[text_of(queue, "name")] = number_of(queue, "priority");
  }
  const std::vector<std::string> pools = comma_list(invocation.get("partition"));
  std::vector<Priority> priorities;
  for (const json& one : found) {
    JobView job = read_job(one);
    const std::string pool = slurm_partition(job);
    if (!pools.empty() && std::find(pools.begin(), pools.end(), pool) == pools.end()) continue;
    const std::int64_t queue = of_queue[job.queue];
    priorities.push_back({std::move(job), queue, text_of(cluster, "name")});
  }
  return priorities;
}

Result<int> run_sprio(const Invocation& invocation) {
  if (invocation.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  const char* usual = invocation.has("weights") ? kWeightsFormat : kFormat;
  const std::string format = invocation.get("format", invocation.has("long") ? kLongFormat : usual);
  TRY_ASSIGN(const std::vector<FormatPiece> pieces, parse_percent_format(format));
  for (const FormatPiece& piece : pieces) {
    if (piece.field != 0 && title_of(piece.field).empty()) {
      return usage_error(fmt::format("Invalid job format specification: %{}", piece.field));
    }
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  std::string out;
  if (!invocation.has("noheader")) out += format_line(pieces, title_of) + "\n";
  if (invocation.has("weights")) {
    TRY_ASSIGN(const std::string weights, weights_line(api, pieces));
    print(out + weights);
    return 0;
  }
  TRY_ASSIGN(const std::vector<Priority> priorities, read_priorities(api, invocation));
  if (priorities.empty() && invocation.has("jobs")) {
    face_says("sprio", "Unable to find jobs matching user/id(s) specified");
  }
  for (const Priority& priority : priorities) {
    out += format_line(pieces, [&](char field) { return field_of(priority, field); }) + "\n";
  }
  print(out);
  return 0;
}

}  // namespace

std::vector<Command> sprio_commands() {
  CommandSpec spec;
  spec.name = "sprio";
  spec.summary = "Show the priorities of waiting jobs (as Slurm's)";
  spec.group = kFaceGroup;
  spec.description =
      "SITE is the job's own priority, QOS that of its queue. The order depends on more than a\n"
      "number: see `dove why`.";
  spec.options = {{"jobs", 'j', "IDS", "these jobs"},
                  {"user", 'u', "USERS", "of these users"},
                  {"partition", 'p', "POOLS", "in these pools"},
                  {"format", 'o', "FORMAT", "columns, such as \"%i %Y\""},
                  {"long", 'l', "", "more columns"},
                  {"noheader", 'h', "", "no titles"},
                  {"norm", 'n', "", "accepted"},
                  {"weights", 'w', "", "the weights of the parts"},
                  {"clusters", 'M', "NAMES", "accepted"},
                  {"verbose", 'v', "", "accepted"},
                  {"version", 'V', "", "print the version"}};
  return {{spec, guarded_face("sprio", run_sprio)}};
}

}  // namespace dove::cli
