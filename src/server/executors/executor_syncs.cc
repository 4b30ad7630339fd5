#include "server/executors/executor_syncs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "codec/quantity.h"
#include "core/executors/sync.h"
#include "core/executors/unwatched_news.h"
#include "core/state/executors/core_numbers.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/linux_user.h"
#include "core/state/executors/placeholders.h"
#include "server/executors/executor_jobs.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using listener::CallPtr;

constexpr std::chrono::milliseconds kLookAfter{20};  // several batches are looked at together
constexpr std::int64_t kWatchMargin_us = 1'000'000;
constexpr std::size_t kFormerMax = 16;
constexpr std::chrono::seconds kProgramsWait{20};

Json wanted_json(const core::State& state, const std::string& executor,
                 const core::WantedPlaceholder& one) {
  const JobSpec& spec = *state.find_job(one.job)->spec;
  const bool runs = spec.executor == executor;
  const CoreSet cores = core::core_numbers(*one.node->inventory, one.placement->cores);
  Json object{{"job", one.job.value},
              {"attempt", one.attempt},
              {"node", one.node->name},
              {"cores", cores.ids()},
              {"devices", core::devices_of(*one.placement)},
              {"memory_bytes", one.placement->memory_bytes},
              {"user", runs ? core::linux_user_of(state, spec.user, RunAs::kSubmitter) : spec.user},
              {"name", spec.name},
              {"id", one.id},
              {"runs", runs},
              {"foreign_job", runs ? spec.foreign_job : ""}};
  object["until"] = one.until == kNever ? Json(nullptr) : Json(codec::rfc3339(one.until));
  return object;
}

// The part of its nodes that it is lent: it keeps the other devices from its own users.
Json lent_json(const core::State& state, const std::string& name) {
  const auto found = state.executors.find(name);
  if (found == state.executors.end()) return {{"nodes", Json::array()}, {"parts", Json::array()}};
  const Executor& executor = found->second;
  Json parts = Json::array();
  for (const Lendable& one : executor.lendable) {
    parts.push_back({{"nodes", one.nodes}, {"devices", one.devices}});
  }
  // Without placeholders nothing is held there, whatever for.
  if (!executor.placeholders) parts = Json::array();
  return {{"nodes", executor.nodes}, {"parts", std::move(parts)}};
}

// What its nodes with agents are, as far as it has to count their cores alike.
Json machines_json(const core::State& state, const std::string& executor) {
  std::map<std::array<std::int64_t, 3>, std::vector<std::string>> names;
  for (const core::Node& node : state.nodes) {
    if (node.removed || node.inventory == nullptr || !core::has_agent(node)) continue;
    if (core::find_executor(node, executor) == nullptr) continue;
    const Inventory& inventory = *node.inventory;
    const std::int64_t threads = core::threads_per_core(inventory);
    CoreSet ids;
    for (const NumaNode& numa : inventory.numa) ids |= numa.cores;
    const auto cores = static_cast<std::int64_t>(ids.size()) / threads;
    names[{cores, threads, node.declared.cores_reserved}].push_back(node.name);
  }
  Json machines = Json::array();
  for (auto& [machine, nodes] : names) {
    const auto [cores, threads, reserved] = machine;
    machines.push_back({{"nodes", nodes},
                        {"cores", cores},
                        {"threads_per_core", threads},
                        {"cores_reserved", reserved}});
  }
  return machines;
}

// The partitions whose waiting jobs it is to tell, so that ours make room for them; null: its
// users' jobs wait at a gate.
Json yields_json(const core::State& state, const std::string& executor) {
  const auto found = state.executors.find(executor);
  if (found == state.executors.end()) return Json::array();
  return found->second.gate ? Json() : Json(found->second.yields_to);
}

// The next time of which its accounting is to say what ended in it.
Json unwatched_json(const core::State& state, const std::string& executor) {
  const core::Unwatched* gap = core::first_unwatched(state, executor);
  if (gap == nullptr) return nullptr;
  return {{"from", codec::rfc3339(gap->counted)}, {"until", codec::rfc3339(gap->to)}};
}

// Digests of what is to be run by it.
std::vector<std::string> programs_of(const core::State& state, const std::string& executor) {
  std::vector<std::string> programs;
  for (const core::WantedWork& one : core::wanted(state, executor).works) {
    if (one.job->spec->foreign_job.empty()) programs.push_back(one.job->spec->exec_digest);
  }
  return programs;
}

}  // namespace

Result<const Executor*> executor_of(const core::State& state, const listener::Call& call) {
  const auto found = state.executors.find(call.parameters[0]);
  if (found == state.executors.end()) return listener::not_found("executor", call.parameters[0]);
  const Executor& executor = found->second;
  if (!executor.service_account.empty() && call.caller.user == executor.service_account) {
    return &executor;
  }
  return Error{
      ErrorKind::kDenied, "not_its_account",
      executor.service_account.empty()
          ? fmt::format("no service account speaks for executor {}: an administrator names "
                        "one in its `service_account`",
                        executor.name)
          : fmt::format("only {} speaks for executor {}: call with a key of that account",
                        executor.service_account, executor.name),
      ""};
}

ExecutorSyncs::ExecutorSyncs(listener::Desk& desk)
    : desk_(desk), begun_us_(desk.loop.monotonic_us()) {
  published();  // adapters that a former process heard of may be silent by now
}

Result<void> ExecutorSyncs::begin(const std::string& executor, const std::string& incarnation,
                                  std::uint64_t number) {
  Adapter& adapter = adapters_[executor];
  const bool is_former =
      std::find(adapter.former.begin(), adapter.former.end(), incarnation) != adapter.former.end();
  if (is_former) {
    return Error{ErrorKind::kConflict, "adapter_replaced",
                 fmt::format("another adapter of {} has taken over since: end this one, or begin "
                             "anew with another incarnation",
                             executor),
                 "incarnation"};
  }
  if (adapter.incarnation == incarnation && number <= adapter.number) {
    return Error{ErrorKind::kConflict, "sync_late",
                 fmt::format("number {} came before this one, {}: what this one says is outdated",
                             adapter.number, number),
                 "number"};
  }
  if (adapter.incarnation != incarnation) adapter.waiting_number = 0;
  if (adapter.incarnation != incarnation && !adapter.incarnation.empty()) {
    adapter.former.push_back(std::exchange(adapter.incarnation, incarnation));
    if (adapter.former.size() > kFormerMax) adapter.former.pop_front();
  }
  adapter.incarnation = incarnation;
  adapter.number = number;
  adapter.heard_us = desk_.loop.monotonic_us();
  reply(adapter, executor);  // the call before this one, if somebody still waits for it
  return {};
}

bool ExecutorSyncs::is_new(const std::string& executor) const {
  const auto found = adapters_.find(executor);
  if (found == adapters_.end()) return true;
  const Adapter& adapter = found->second;
  return adapter.taken != adapter.incarnation || adapter.taken_in != desk_.state().epoch;
}

void ExecutorSyncs::note_taken(const std::string& executor, const std::string& incarnation) {
  Adapter& adapter = adapters_[executor];
  adapter.taken = incarnation;
  adapter.taken_in = desk_.state().epoch;
}

Result<void> ExecutorSyncs::begin_waiting(const std::string& executor,
                                          const std::string& incarnation, std::uint64_t number) {
  const auto adapter = adapters_.find(executor);
  if (adapter == adapters_.end() || adapter->second.incarnation != incarnation) {
    return Error{ErrorKind::kConflict, "sync_first",
                 fmt::format("another adapter speaks for {}, or this one has not synced since this "
                             "controller began: sync first",
                             executor),
                 "incarnation"};
  }
  if (number <= adapter->second.waiting_number) {
    return Error{ErrorKind::kConflict, "sync_late",
                 fmt::format("number {} came before this one: what this one says is outdated",
                             adapter->second.waiting_number),
                 "number"};
  }
  adapter->second.waiting_number = number;
  return {};
}

void ExecutorSyncs::answer(const std::string& executor, CallPtr call, std::uint64_t seen,
                           Span wait) {
  Adapter& adapter = adapters_[executor];
  reply(adapter, executor);
  adapter.waiting = std::move(call);
  adapter.seen = seen;
  const bool is_other = core::wanted(desk_.state(), executor).version != seen;
  if (is_other || wait.us == 0 || desk_.stopping()) return reply(adapter, executor);
  adapter.deadline = desk_.loop.after(std::chrono::microseconds(wait.us),
                                      [this, executor] { reply(adapters_[executor], executor); });
}

void ExecutorSyncs::reply(Adapter& adapter, const std::string& executor) {
  if (adapter.waiting == nullptr) return;
  adapter.deadline.cancel();
  adapter.heard_us = desk_.loop.monotonic_us();
  tell(std::exchange(adapter.waiting, nullptr), executor);
}

// What its works run is read first; meanwhile others may have come.
void ExecutorSyncs::tell(const CallPtr& call, const std::string& executor) {
  desk_.blobs.fetch(programs_of(desk_.state(), executor), kProgramsWait,
                    [this, call, executor](const Result<listener::Blobs::Found>& found) {
                      if (!found.ok()) return call->fail(found.error());
                      const auto now = programs_of(desk_.state(), executor);
                      if (!desk_.blobs.has_all(now, *found)) return tell(call, executor);
                      write(*call, executor, *found);
                    });
}

void ExecutorSyncs::write(const listener::Call& call, const std::string& executor,
                          const listener::Blobs::Found& blobs) {
  const core::Wanted wanted = core::wanted(desk_.state(), executor);
  Json placeholders = Json::array();
  for (const core::WantedPlaceholder& one : wanted.placeholders) {
    placeholders.push_back(wanted_json(desk_.state(), executor, one));
  }
  Json drains = Json::array();
  for (const core::WantedDrain& one : wanted.drains) {
    drains.push_back({{"node", one.node->name}, {"why", one.why}});
  }
  Json put_backs = Json::array();
  for (const core::WantedPutBack& one : wanted.put_backs) {
    put_backs.push_back({{"id", one.id}, {"job", one.job.value}});
  }
  Json kept = Json::array();
  for (const core::KeptDevices& one : wanted.kept) {
    kept.push_back({{"node", one.node->name}, {"devices", one.devices}});
  }
  Json works = Json::array();
  for (const core::WantedWork& one : wanted.works) {
    works.push_back(work_json(desk_.state(), blobs, one));
  }
  call.reply(200, Json{{"version", wanted.version},
                       {"level", desk_.state().level},
                       {"wanted", std::move(placeholders)},
                       {"works", std::move(works)},
                       {"drains", std::move(drains)},
                       {"put_backs", std::move(put_backs)},
                       {"kept", std::move(kept)},
                       {"yields_to", yields_json(desk_.state(), executor)},
                       {"lent", lent_json(desk_.state(), executor)},
                       {"machines", machines_json(desk_.state(), executor)},
                       {"unwatched", unwatched_json(desk_.state(), executor)}});
}

void ExecutorSyncs::published() {
  if (desk_.state().executors.empty()) return;
  if (!watch_timer_.pending()) watch();
  if (!adapters_.empty() && !look_timer_.pending()) {
    look_timer_ = desk_.loop.after(kLookAfter, [this] { look(); });
  }
}

void ExecutorSyncs::look() {
  for (auto& [executor, adapter] : adapters_) {
    if (adapter.waiting == nullptr) continue;
    const core::Wanted now = core::wanted(desk_.state(), executor);
    if (now.version != adapter.seen) reply(adapter, executor);
  }
}

// One that waits for its answer is there.
void ExecutorSyncs::watch() {
  const std::int64_t now_us = desk_.loop.monotonic_us();
  std::int64_t next_us = now_us + kSilentAfter.us;
  for (const auto& [executor, standing] : desk_.state().standings) {
    if (standing.contact == ExecutorContact::kSilent) continue;
    const auto adapter = adapters_.find(executor);
    if (adapter != adapters_.end() && adapter->second.waiting != nullptr) continue;
    const std::int64_t heard_us = adapter == adapters_.end() ? begun_us_ : adapter->second.heard_us;
    const std::int64_t silent_us = heard_us + kSilentAfter.us;
    next_us = std::min(next_us, std::max(silent_us, now_us));
    if (now_us < silent_us || desk_.stopping()) continue;
    desk_.observe(ExecutorContactChanged{
        executor, ExecutorContact::kSilent,
        fmt::format("its adapter has not called for {} s", kSilentAfter.us / 1'000'000)});
  }
  watch_timer_ = desk_.loop.after(std::chrono::microseconds(next_us - now_us + kWatchMargin_us),
                                  [this] { watch(); });
}

void ExecutorSyncs::close_all() {
  watch_timer_.cancel();
  look_timer_.cancel();
  for (auto& [executor, adapter] : adapters_) reply(adapter, executor);
}

}  // namespace dove::server
