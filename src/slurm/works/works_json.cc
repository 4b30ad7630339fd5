#include "slurm/works/works_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "slurm/gres.h"
#include "text/utf8.h"

namespace dove::slurm {
namespace {

using nlohmann::json;

constexpr std::int64_t kNumberMax = std::int64_t{1} << 53;
constexpr std::int64_t kRanksMax = 100'000;
constexpr std::int64_t kSecondsMax = 86'400;
constexpr int kSignalMax = 64;
constexpr std::size_t kWordsMax = 10'000;
constexpr std::size_t kLineBytesMax = 256;
constexpr TextRule kAnyText{8 << 20, TextRule::Kind::kAny};

std::string line_of(std::string_view text) {
  std::string line(text.substr(0, text::utf8_bytes(text.substr(0, kLineBytesMax))));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

void read_task(codec::JsonFields& fields, TaskFiles& task) {
  fields.allow_unknown();
  fields.integer("rank", task.rank, 0, kRanksMax);
  fields.text("stdout", task.output, kAnyText);
  fields.text("stderr", task.error, kAnyText);
  if (fields.has("devices")) {
    fields.integers("devices", task.devices.emplace(), 0, kDevicesMax, kDevicesMax);
  }
}

void read_warning(codec::JsonFields& fields, Warning& warning) {
  fields.allow_unknown();
  Instant at;
  fields.integer("signal", warning.signal, 0, kSignalMax);
  fields.instant("at", at);
  warning.at_s = at.us / 1'000'000;
  fields.boolean("steps_first", warning.steps_first);
}

void read_program(codec::JsonFields& fields, Program& program) {
  fields.allow_unknown();
  fields.text("script", program.script, kAnyText);
  fields.texts("command", program.command, kAnyText, kWordsMax);
  fields.text_map("environment", program.environment, kAnyText, kAnyText, kWordsMax);
  fields.text("workdir", program.workdir, kAnyText);
  fields.text("stdin", program.input, kAnyText);
  fields.boolean("append", program.append);
  fields.text("umask", program.umask);
  fields.objects("outputs", static_cast<std::size_t>(kRanksMax),
                 [&](codec::JsonFields& inner, std::size_t) {
                   read_task(inner, program.tasks.emplace_back());
                 });
}

}  // namespace

json works_json(const std::vector<WorkReport>& works) {
  json list = json::array();
  for (const WorkReport& work : works) {
    json exits = json::array();
    for (const TaskEnd& end : work.exits) {
      exits.push_back({{"rank", end.rank},
                       {"exit_code", end.exit_code},
                       {"signal", end.signal},
                       {"cause", line_of(end.cause)}});
    }
    list.push_back({{"job", work.key.job},
                    {"attempt", work.key.attempt},
                    {"node", work.key.node},
                    {"state", work.has_ended ? "ended" : "running"},
                    {"exits", std::move(exits)},
                    {"why", line_of(work.why)}});
  }
  return list;
}

void read_key(codec::JsonFields& fields, PlaceholderKey& key) {
  fields.integer("job", key.job, 1, kNumberMax);
  fields.integer("attempt", key.attempt, 0, kNumberMax);
  fields.text("node", key.node, kNameRule);
  if (key.job == 0) fields.fail("job", "missing_field", "names no job");
  if (key.node.empty()) fields.fail("node", "missing_field", "names no node");
}

void read_work(codec::JsonFields& fields, WantedWork& work) {
  fields.allow_unknown();
  read_key(fields, work.key);
  fields.integer("node_rank", work.node_rank, 0, kRanksMax);
  fields.integer("nodes", work.nodes, 1, kRanksMax);
  fields.text("foreign_job", work.foreign_job);
  fields.boolean("started", work.started);
  fields.boolean("stop", work.stop);
  fields.boolean("put_back", work.put_back);
  fields.integer("stop_signal", work.stop_signal, 1, kSignalMax);
  fields.integer("grace_s", work.grace_s, 0, kSecondsMax);
  fields.integer("checkpoint_signal", work.checkpoint_signal, 0, kSignalMax);
  fields.integer("checkpoint_grace_s", work.checkpoint_grace_s, 0, kSecondsMax);
  if (fields.has("warning")) {
    fields.object("warning", [&](codec::JsonFields& inner) { read_warning(inner, work.warning); });
  }
  fields.integers("tasks", work.ranks, 0, kRanksMax, static_cast<std::size_t>(kRanksMax));
  fields.integer("cores", work.cores, 0, kRanksMax);
  fields.text("user", work.user);
  fields.text("name", work.name);
  if (!fields.has("exec")) return;
  fields.object("exec",
                [&](codec::JsonFields& inner) { read_program(inner, work.program.emplace()); });
}

}  // namespace dove::slurm
