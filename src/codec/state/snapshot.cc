#include "codec/state/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "codec/model_fields.h"
#include "core/state/executors/fold_executors.h"
#include "core/state/hash.h"
#include "core/state/usage.h"

namespace dove::codec {
namespace {

constexpr std::string_view kMagic = "dovesnap";
constexpr std::uint64_t kLayout = 14;

// Elements of an array share one spec: it is written once and referred to by its number.
class SpecTable {
 public:
  using Spec = std::shared_ptr<const JobSpec>;

  std::uint64_t number_of(const Spec& spec) {
    const auto [entry, added] = numbers_.try_emplace(spec.get(), specs_.size());
    if (added) specs_.push_back(spec);
    return entry->second;
  }
  std::vector<Spec>& specs() { return specs_; }

 private:
  std::map<const JobSpec*, std::uint64_t> numbers_;
  std::vector<Spec> specs_;
};

}  // namespace

template <>
constexpr core::PlacementStage last_of<core::PlacementStage>() {
  return core::PlacementStage::kEnded;
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::PlacementRecord>& v) {
  ar(v.placement, v.stage);
  ar.since(2, v.step);
  ar.since(2, v.busy);
  ar.since(2, v.step_at);
  ar.since(2, v.slow_reports);
  ar.since(3, v.slowest);
  ar.since(3, v.ranks);
  ar.since(3, v.typical);
  ar.since(3, v.slow_noted);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Attempt>& v) {
  auto layout = ar.layout(4, "Attempt");
  ar(v.number, v.stage, v.stop_reason, v.placements, v.exits, v.allocated_at, v.started_at,
     v.stop_at, v.ended_at, v.stage_at, v.exits_at_stop);
  ar.since(3, v.saved_at);
  ar.since(4, v.held_back);
}

// All of a job but its spec.
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Job>& v) {
  auto layout = ar.layout(7, "Job");
  ar(v.id, v.phase, v.outcome, v.held, v.cancel_requested, v.requeue_requested, v.priority,
     v.exit_code, v.retries_used, v.array, v.array_index, v.submitted_at, v.eligible_at, v.ended_at,
     v.submitted_seq, v.attempts, v.nodes_avoided);
  ar.since(2, v.ran_before);
  ar.since(2, v.checkpoint_at);
  ar.since(2, v.preemptions);
  ar.since(2, v.preempted_at);
  ar.since(3, v.requeues_in_a_row);
  ar.since(4, v.at_head);
  ar.since(5, v.learned_key);
  ar.since(5, v.likely_ms);
  ar.since(6, v.not_before);
  ar.since(7, v.cancelled_by);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::OpenFinding>& v) {
  ar(v.finding, v.since);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::LinkVote>& v) {
  ar(v.peer, v.at);
  ar.since(6, v.job);  // of the node's layout
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Agreed>& v) {
  ar(v.fence, v.disconnect_grace, v.outage_grace);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::NodeExecutor>& v) {
  auto layout = ar.layout(2, "NodeExecutor");
  ar(v.name, v.state, v.why, v.foreign, v.placeholders, v.contact);
  ar.since(2, v.features);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::PlaceholderKey>& v) {
  ar(v.job, v.attempt, v.node, v.executor);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Placeholder>& v) {
  auto layout = ar.layout(1, "Placeholder");
  ar(v.stage, v.since, v.id, v.why);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Unwatched>& v) {
  auto layout = ar.layout(1, "Unwatched");
  ar(v.from, v.to, v.counted, v.ended);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::ExecutorStanding>& v) {
  auto layout = ar.layout(2, "ExecutorStanding");
  ar(v.contact, v.since, v.why);
  ar.since(2, v.watched_until);
  ar.since(2, v.watched_in);
  ar.since(2, v.unwatched);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Node>& v) {
  auto layout = ar.layout(6, "Node");
  ar(v.id, v.name, v.boot_id, v.backend, v.address, v.agent_token_sha256, v.inventory, v.declared,
     v.contact, v.contact_since, v.removed, v.cores_free, v.device_free_milli, v.memory_free_bytes,
     v.countables_free, v.jobs);
  if constexpr (Ar::kReads) {
    const auto at = std::adjacent_find(v.jobs.begin(), v.jobs.end(), std::greater_equal<>());
    if (at != v.jobs.end()) ar.fail("a node's jobs are out of order");
  }
  ar.since(2, v.slots_taken);
  ar.since(3, v.version);
  ar.since(3, v.preflight_port);
  ar.since(3, v.life);
  ar.since(3, v.life_since);
  ar.since(3, v.life_why);
  ar.since(3, v.life_who);
  ar.since(3, v.remedy);
  ar.since(3, v.answer);
  ar.since(3, v.request);
  ar.since(3, v.findings);
  ar.since(3, v.faults);
  ar.since(3, v.votes);
  ar.since(4, v.machine_id);
  ar.since(4, v.awaited);
  ar.since(4, v.agreed);
  ar.since(5, v.executors);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::PromiseRecord>& v) {
  auto layout = ar.layout(2, "PromiseRecord");
  ar(v.start_at, v.made_at, v.placements);
  ar.since(2, v.cleared);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Hang>& v) {
  auto layout = ar.layout(1, "Hang");
  ar(v.attempt, v.node, v.is_one, v.rank, v.ranks, v.step, v.silent, v.at);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::IdleNotice>& v) {
  auto layout = ar.layout(1, "IdleNotice");
  ar(v.attempt, v.check, v.rule, v.evidence, v.observed_at, v.ends_at);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::PastUse>& v) {
  ar(v.amount, v.at);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::MonthUse>& v) {
  ar(v.month, v.gpu_ms, v.at);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::ForgottenKey>& v) {
  ar(v.day, v.user, v.project, v.queue);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::ForgottenUse>& v) {
  auto layout = ar.layout(1, "ForgottenUse");
  ar(v.gpu_milli_ms, v.core_ms, v.jobs);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Forgotten>& v) {
  ar(v.use, v.jobs, v.since);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::RunCounts>& v) {
  ar(v.ended, v.ran_ms);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::UserRuns>& v) {
  ar(v.all, v.by_width);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Learned>& v) {
  auto layout = ar.layout(1, "Learned");
  ar(v.kept);
  for (auto& spent : v.service.spent_ms) ar(spent);
  for (auto& ended : v.service.ended) ar(ended);
  for (auto& left : v.outlook.left_ms) ar(left);
  ar(v.service.jobs_ended, v.service.ran_ms, v.outlook.mean_run, v.runs.all, v.runs.by_user,
     v.next_look, v.waiting_ms);
}

// Its nodes: what finds them by name follows from them.
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::NodeTable>& v) {
  if constexpr (Ar::kReads) {
    core::NodeTable::Nodes nodes;
    ar(nodes);
    for (core::Node& node : nodes) v.push_back(std::move(node));
  } else {
    ar(v.by_id());
  }
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::JoinToken>& v) {
  ar(v.node_name, v.expires_at);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::ArmedBoot>& v) {
  ar(v.until, v.used_at, v.used_by);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<core::Usage>& v) {
  auto layout = ar.layout(2, "Usage");
  ar(v.jobs_running, v.jobs_waiting, v.cores, v.gpus_milli, v.memory_bytes, v.countables);
  ar.since(2, v.gpus_by_model);
}

namespace {

// All of a state but its jobs.
template <class Ar>
void state_fields(Ar& ar, typename Ar::template Of<core::State>& v) {
  ar(v.now, v.head, v.epoch, v.next_job, v.nodes, v.settings, v.pools, v.queues, v.user_limits,
     v.users, v.node_declarations, v.join_tokens, v.usage_by_user, v.usage_by_queue, v.usage);
  ar.since(2, v.projects);
  ar.since(2, v.reservations);
  ar.since(2, v.usage_by_project);
  ar.since(2, v.asked_by_project);
  ar.since(2, v.past_by_user);
  ar.since(2, v.past_by_queue);
  ar.since(2, v.counts_models);
  ar.since(2, v.promises);
  ar.since(3, v.hangs);
  ar.since(4, v.round_robin);
  ar.since(6, v.learned);
  ar.since(7, v.keys);
  ar.since(8, v.domains);
  ar.since(8, v.groups);
  ar.since(8, v.bindings);
  ar.since(9, v.executors);
  ar.since(9, v.standings);
  ar.since(9, v.placeholders);
  ar.since(10, v.idle_rules);
  ar.since(10, v.idle);
  ar.since(10, v.kept);
  ar.since(10, v.shared);
  ar.since(11, v.apps);
  ar.since(11, v.job_settings);
  ar.since(11, v.secrets);
  ar.since(11, v.month_by_user);
  ar.since(11, v.month_by_project);
  ar.since(11, v.month_by_domain);
  ar.since(11, v.month_by_queue);
  ar.since(11, v.usage_by_domain);
  ar.since(11, v.asked_by_domain);
  ar.since(11, v.incarnation);
  ar.since(11, v.restored_at);
  ar.since(12, v.forgotten);
  ar.since(13, v.level);
  ar.since(14, v.boot_configs);
  ar.since(14, v.armed_boots);
}

void write_jobs(ByteWriter& ar, const core::State& state) {
  SpecTable table;
  std::string jobs;
  ByteWriter jobs_ar(jobs, ar.level());
  for (const auto& [id, job] : state.jobs) {
    jobs_ar.varint(table.number_of(job.spec));
    jobs_ar(job);
  }
  ar(table.specs());
  ar.varint(state.jobs.size());
  ar(jobs);
}

void read_jobs(ByteReader& ar, core::State& state) {
  SpecTable table;
  ar(table.specs());
  const std::uint64_t count = ar.varint();
  std::string jobs;
  ar(jobs);
  if (ar.failed()) return;
  ByteReader jobs_ar(jobs);
  JobId before;
  for (std::uint64_t i = 0; i < count && !jobs_ar.failed(); ++i) {
    const std::uint64_t spec = jobs_ar.varint();
    core::Job job;
    jobs_ar(job);
    if (spec >= table.specs().size()) jobs_ar.fail("a job refers to a spec that is not there");
    if (i > 0 && !(before < job.id)) jobs_ar.fail("jobs are out of order");
    before = job.id;
    if (jobs_ar.failed()) break;
    job.spec = table.specs()[spec];
    const JobId id = job.id;
    state.jobs.emplace(id, std::move(job));
  }
  if (!jobs_ar.failed() && jobs_ar.left() > 0) jobs_ar.fail("bytes are left after the jobs");
  if (jobs_ar.failed()) ar.fail("jobs: " + jobs_ar.error());
}

Error damaged(std::string_view what, bool newer) {
  if (newer) {
    return Error{ErrorKind::kCorrupt, "snapshot_newer",
                 fmt::format("the snapshot was written by a newer version of dove: {}; run that "
                             "version or a later one on these data",
                             what),
                 ""};
  }
  return Error{ErrorKind::kCorrupt, "snapshot_damaged",
               fmt::format("the snapshot cannot be read: {}; restore the data directory from a "
                           "backup, see docs/operate/recovery.md",
                           what),
               ""};
}

}  // namespace

std::string encode_snapshot(const core::State& state) {
  std::string bytes(kMagic);
  ByteWriter ar(bytes, state.level);
  auto layout = ar.layout(kLayout, "the snapshot");
  ar.varint(core::state_hash(state, core::hash_level_of(state.level)));
  ar.since(5, core::hash_level_of(state.level));
  state_fields(ar, state);
  write_jobs(ar, state);
  return bytes;
}

Result<core::State> decode_snapshot(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return damaged("it does not begin as one", false);
  ByteReader ar(bytes.substr(kMagic.size()));
  core::State state;
  state.pools.clear();
  state.queues.clear();
  auto layout = ar.layout(kLayout, "the snapshot");
  const std::uint64_t hash = ar.varint();
  constexpr int kUnnamed = -1;  // older snapshots do not name it
  int level = kUnnamed;
  ar.since(5, level);
  if (level > core::kHashLevel) {
    return damaged(
        fmt::format("its hash is of level {}, this version knows {}", level, core::kHashLevel),
        true);
  }
  state_fields(ar, state);
  core::note_level(state);
  read_jobs(ar, state);
  if (!ar.failed() && ar.left() > 0) ar.fail("bytes are left after its end");
  if (ar.failed()) return damaged(ar.error(), ar.newer());
  const bool matches = level == kUnnamed ? core::has_state_hash(state, hash)
                                         : level > 0 && core::state_hash(state, level) == hash;
  if (!matches) return damaged("its state hash does not match", false);
  if (state.usage_by_domain.empty() && !state.domains.empty()) core::count_domains(state);
  return state;
}

}  // namespace dove::codec
