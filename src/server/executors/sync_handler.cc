// What the adapter of an executor says, and what it is told to hold.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/words.h"
#include "core/executors/sync.h"
#include "model/job_fields.h"
#include "server/context.h"
#include "server/handlers.h"

namespace dove::server {
namespace {

using codec::JsonFields;
using controller::Committed;

constexpr std::size_t kSaidMax = 200'000;  // of each kind
constexpr std::size_t kIdsMax = 4096;
constexpr std::size_t kExitsMax = 100'000;  // of one placement
constexpr std::int64_t kIndexMax = 1023;
constexpr TextRule kIdRule{128, TextRule::Kind::kName};
constexpr TextRule kHostlistRule{1 << 20, TextRule::Kind::kName};
constexpr std::size_t kReservationsMax = 10'000;
constexpr std::size_t kHostlistsMax = 1'000;
constexpr std::size_t kPastMax = 5'000;

struct Said {
  std::string incarnation;
  std::uint64_t number = 0;
  std::uint64_t seen = 0;
  std::int64_t wait_s = 0;
  core::Observation observation;
};

void read_allocation(JsonFields& fields, core::SaidAllocation& said) {
  ForeignAllocation& one = said.allocation;
  std::vector<std::int32_t> cores;
  fields.text("id", one.id, kIdRule);
  fields.text("node", said.node, kNameRule);
  fields.integers("cores", cores, 0, CoreSet::kEnd - 1, kIdsMax);
  fields.integers("devices", one.devices, 0, kIndexMax, kIdsMax);
  fields.bytes("memory", one.memory_bytes);
  fields.text("user", one.user);
  fields.text("account", one.account);
  fields.text("name", one.name);
  fields.text("partition", one.partition);
  fields.integer("priority", one.priority, INT64_MIN, INT64_MAX);
  fields.instant("started_at", one.started_at);
  fields.instant("ends_by", one.ends_by);
  fields.boolean("may_requeue", one.may_requeue);
  for (const std::int32_t core : cores) one.cores.insert(core);
  std::sort(one.devices.begin(), one.devices.end());
  one.devices.erase(std::unique(one.devices.begin(), one.devices.end()), one.devices.end());
  if (one.id.empty())
    fields.fail("id", "missing_field", "name the allocation as its executor does");
}

// Which attempt, and on which node: of a placeholder or of a work.
template <class Said>
void read_attempt(JsonFields& fields, Said& said) {
  std::uint64_t job = 0;
  std::int64_t attempt = 0;
  fields.integer("job", job);
  fields.integer("attempt", attempt, 0, std::numeric_limits<AttemptNumber>::max());
  said.job = JobId(job);
  said.attempt = static_cast<AttemptNumber>(attempt);
  fields.text("node", said.node, kNameRule);
}

void read_placeholder(JsonFields& fields, core::SaidPlaceholder& said) {
  constexpr std::array<std::string_view, 4> kStates{"asked", "confirmed", "refused", "ended"};
  constexpr std::array kStages{PlaceholderStage::kAsked, PlaceholderStage::kConfirmed,
                               PlaceholderStage::kRefused, PlaceholderStage::kGone};
  read_attempt(fields, said);
  fields.text("id", said.id, {128, TextRule::Kind::kLine});
  fields.text("why", said.why);
  std::vector<std::int32_t> cores;
  fields.integers("devices", said.devices, 0, kIndexMax, kIdsMax);
  fields.integers("cores", cores, 0, CoreSet::kEnd - 1, kIdsMax);
  said.cores = CoreSet(cores);
  std::sort(said.devices.begin(), said.devices.end());
  const int state = fields.one_of("state", kStates);
  if (state < 0) return fields.fail("state", "missing_field", "say how far it is");
  said.stage = kStages[static_cast<std::size_t>(state)];
}

void read_node(JsonFields& fields, core::SaidNode& said) {
  fields.text("name", said.name, kNameRule);
  fields.text("reason", said.why);
  fields.texts("features", said.features, kFeatureRule, kFeaturesMax);
  std::sort(said.features.begin(), said.features.end());
  said.features.erase(std::unique(said.features.begin(), said.features.end()), said.features.end());
  if (const nlohmann::json* inventory = fields.find("inventory")) {
    const Result<Inventory> read = codec::read_inventory(*inventory);
    if (!read.ok()) return fields.fail("inventory", read.error().code, read.error().message);
    said.inventory = std::make_shared<const Inventory>(*read);
  }
  const int state = fields.one_of("state", codec::executor_node_states());
  if (state < 0) return fields.fail("state", "missing_field", "say up, drained or down");
  said.state = static_cast<ExecutorNodeState>(state);
}

void read_exit(JsonFields& fields, TaskExit& exit) {
  std::int64_t rank = 0;
  std::int64_t code = 0;
  std::int64_t signal = 0;
  fields.integer("rank", rank, 0, std::numeric_limits<Rank>::max());
  fields.integer("exit_code", code, 0, 255);
  fields.integer("signal", signal, 0, 127);
  fields.text("cause", exit.cause);
  exit.rank = static_cast<Rank>(rank);
  exit.exit_code = static_cast<std::int32_t>(code);
  exit.signal = static_cast<std::int32_t>(signal);
}

void read_work(JsonFields& fields, core::SaidWork& said) {
  constexpr std::array<std::string_view, 2> kStates{"running", "ended"};
  read_attempt(fields, said);
  fields.text("why", said.why);
  fields.integer("cpu_us", said.cpu_us, 0, INT64_MAX);
  fields.integer("memory_peak_bytes", said.memory_peak_bytes, 0, INT64_MAX);
  fields.objects("exits", kExitsMax, [&](JsonFields& inner, std::size_t) {
    read_exit(inner, said.exits.emplace_back());
  });
  const int state = fields.one_of("state", kStates);
  if (state < 0) return fields.fail("state", "missing_field", "say running or ended");
  said.has_ended = state == 1;
}

void read_reservation(JsonFields& fields, core::SaidReservation& said) {
  fields.text("name", said.name, kNameRule);
  fields.texts("nodes", said.nodes, kHostlistRule, kHostlistsMax);
  fields.instant("starts_at", said.starts_at);
  fields.instant("ends_at", said.ends_at);
  if (said.name.empty()) fields.fail("name", "missing_field", "names no reservation");
  if (said.ends_at <= said.starts_at) {
    fields.fail("ends_at", "out_of_range", "must be later than starts_at");
  }
}

void read_use(JsonFields& fields, ForeignUse& use) {
  // Times a time without watch, none of them leaves 64 bits.
  constexpr std::int64_t kCoresMax = 1 << 24;
  constexpr std::int64_t kGpusMax_milli = 1 << 30;
  constexpr std::int64_t kMemoryMax = std::int64_t{1} << 50;
  fields.text("id", use.id, kIdRule);
  fields.text("account", use.account);
  fields.instant("started_at", use.from);
  fields.instant("ended_at", use.to);
  fields.integer("cores", use.cores, 0, kCoresMax);
  fields.integer("gpus_milli", use.gpus_milli, 0, kGpusMax_milli);
  fields.bytes("memory", use.memory_bytes);
  if (use.memory_bytes > kMemoryMax) fields.fail("memory", "out_of_range", "at most 1 PiB");
  if (use.id.empty()) fields.fail("id", "missing_field", "name the job as its executor does");
}

void read_past(JsonFields& fields, core::SaidPast& past) {
  fields.instant("gap", past.gap);
  fields.instant("from", past.from);
  fields.instant("until", past.until);
  fields.objects("jobs", kPastMax, [&](JsonFields& inner, std::size_t) {
    read_use(inner, past.uses.emplace_back());
  });
}

void read_said(JsonFields& fields, Said& said) {
  fields.text("incarnation", said.incarnation, kIdRule);
  fields.integer("number", said.number);
  fields.integer("seen", said.seen);
  fields.integer("wait_s", said.wait_s, 0, 60);
  core::Observation& all = said.observation;
  fields.boolean("complete", all.complete);
  fields.objects("allocations", kSaidMax, [&](JsonFields& inner, std::size_t) {
    read_allocation(inner, all.allocations.emplace_back());
  });
  fields.objects("placeholders", kSaidMax, [&](JsonFields& inner, std::size_t) {
    read_placeholder(inner, all.placeholders.emplace_back());
  });
  fields.objects("nodes", kSaidMax, [&](JsonFields& inner, std::size_t) {
    read_node(inner, all.nodes.emplace_back());
  });
  fields.objects("works", kSaidMax, [&](JsonFields& inner, std::size_t) {
    read_work(inner, all.works.emplace_back());
  });
  fields.objects("reservations", kReservationsMax, [&](JsonFields& inner, std::size_t) {
    read_reservation(inner, all.reservations.emplace_back());
  });
  fields.object("past", [&](JsonFields& inner) { read_past(inner, all.past.emplace()); });
  if (said.incarnation.empty()) {
    fields.fail("incarnation", "missing_field", "name this process of the adapter");
  }
  if (said.number == 0) fields.fail("number", "missing_field", "count the calls from 1");
}

}  // namespace

void sync_executor(Context& context, CallPtr call) {
  const Result<const Executor*> executor = executor_of(context.state(), *call);
  if (!executor.ok()) return call->fail(executor.error());
  Said said;
  const Result<void> read = call->read_body([&](JsonFields& fields) { read_said(fields, said); });
  if (!read.ok()) return call->fail(read.error());
  const std::string name = (*executor)->name;
  const Result<void> begun = context.syncs.begin(name, said.incarnation, said.number);
  if (!begun.ok()) return call->fail(begun.error());
  // What was observed before this controller began may have been on its way ever since.
  if (!core::is_of_this_epoch(context.state(), said.seen)) {
    return context.syncs.answer(name, std::move(call), 0, Span{});
  }
  said.observation.begins = context.syncs.is_new(name);
  controller::Input input;
  input.kind = controller::InputKind::kReport;
  for (Event& event : core::news(context.state(), **executor, said.observation)) {
    input.events.push_back(StampedEvent{std::move(event), call->cause()});
  }
  const auto answer = [&context, call, name, seen = said.seen, wait = seconds(said.wait_s)] {
    context.syncs.answer(name, call, seen, wait);
  };
  const auto taken = [&context, answer, name, incarnation = std::move(said.incarnation),
                      complete = said.observation.complete] {
    if (complete) context.syncs.note_taken(name, incarnation);
    answer();
  };
  if (input.events.empty()) return taken();
  context.desk.submit(std::move(input), [call, taken](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    taken();
  });
}

}  // namespace dove::server
