#include "core/state/hash.h"

#include "base/digest.h"

namespace dove::core {
namespace {

// Feeds every field of a State into a digest, in a fixed order, but those that are derived from the
// others. A field that came with level 3 is `since(3, value.field)`: the hashes of former levels do
// not know it.
class Hash {
 public:
  explicit Hash(int level) : level_(level) {}

  template <class... T>
  void since(int level, const T&... each) {
    if (level_ >= level) (add(each), ...);
  }

  // The list of a job's fields (model/job_fields.h), each since its layout's level.
  class Listed {
   public:
    template <class T>
    using Of = const T;

    explicit Listed(Hash& hash) : hash_(hash) {}
    template <class T, class Rule>
    void operator()(std::size_t layout, const char* /*name*/, const T& v, const Rule& /*rule*/) {
      hash_.since(kJobHashLevels.at(layout - 1), v);
    }
    template <class T, class Rule>
    void optional(std::size_t layout, const char* name, const T& v, const Rule& rule) {
      (*this)(layout, name, v, rule);
    }

   private:
    Hash& hash_;
  };

  void add(std::uint64_t v) { digest_.add(v); }
  void add(std::int64_t v) { digest_.add(static_cast<std::uint64_t>(v)); }
  void add(std::int32_t v) { add(static_cast<std::int64_t>(v)); }
  void add(std::uint32_t v) { digest_.add(std::uint64_t{v}); }
  void add(bool v) { digest_.add(std::uint64_t{v}); }
  void add(const std::string& v) { digest_.add(std::string_view(v)); }
  void add(const RareText& v) { add(v.text()); }
  void add(Span v) { add(v.us); }
  void add(Instant v) { add(v.us); }
  template <class Tag, class Rep>
  void add(Id<Tag, Rep> v) {
    digest_.add(std::uint64_t{v.value});
  }
  template <class E>
    requires std::is_enum_v<E>
  void add(E v) {
    add(static_cast<std::int64_t>(v));
  }
  template <class T>
  // The size first, so that elements cannot move from one list to the next and leave the digest as
  // it was.
  void add(const std::vector<T>& list) {
    add(std::uint64_t{list.size()});
    for (const T& one : list) add(one);
  }
  template <class Of, class T>
  void add(const ById<Of, T>& list) {
    add(list.values());
  }
  void add(const NodeTable& nodes) { add(nodes.by_id()); }
  void add(const CoreSet& cores) { add(cores.ids()); }
  template <class T>
  void add(const std::set<T>& list) {
    add(std::uint64_t{list.size()});
    for (const T& one : list) add(one);
  }
  template <class K, class V>
  void add(const std::map<K, V>& map) {
    add(std::uint64_t{map.size()});
    for (const auto& [key, value] : map) all(key, value);
  }
  template <class K, class V>
  void add(const IdMap<K, V>& map) {
    add(std::uint64_t{map.size()});
    for (const auto& [key, value] : map) all(key, value);
  }
  template <class... T>
  void all(const T&... each) {
    (add(each), ...);
  }

  // Logs from before they were there keep their hashes.
  void add_labels(const Labels& labels) {
    if (!labels.empty()) since(12, labels);
  }

  void add(const Countable& c) { all(c.name, c.amount); }
  void add(const Request& r) {
    all(r.cores, r.memory_bytes, r.gpus, r.share_milli, r.gpu_model, r.gpu_memory_bytes,
        r.countables, r.slice, r.slices);
  }
  void add(const TaskGroup& g) {
    all(g.name, g.tasks, g.nodes_min, g.nodes_max, g.tasks_per_node, g.per_task, g.per_node);
    if (g.affinity != Affinity::kDefault) add(g.affinity);  // logs without it keep their hashes
  }
  void add(const SecretUse& s) { all(s.secret, s.variable, s.file); }
  void add(const Dependency& d) { all(d.kind, d.job, d.delay); }
  void add(const ArraySpec& a) { all(a.indices, a.running_max); }
  void add(const JobSpec& s) {
    Listed listed(*this);
    job_fields(listed, s);
  }
  void add(const SlicePlace& s) { all(s.start, s.size, s.compute); }
  void add(const DeviceGrant& g) { all(g.device, g.share_milli, g.slice); }
  void add(const TaskGrant& t) { all(t.rank, t.group, t.local_rank, t.cores, t.devices); }
  void add(const Placement& p) {
    all(p.node, p.node_rank, p.cores, p.devices, p.memory_bytes, p.countables, p.tasks);
  }
  void add(const SharedPlacement& p) { add(*p); }
  void add(const PlacementRecord& r) {
    all(r.placement, r.stage, r.step, r.busy, r.step_at, r.slow_reports, r.slowest, r.ranks,
        r.typical, r.slow_noted);
  }
  void add(const TaskExit& e) { all(e.rank, e.exit_code, e.signal, e.cause); }
  void add(const Attempt& a) {
    all(a.number, a.stage, a.stop_reason, a.placements, a.exits, a.allocated_at, a.started_at,
        a.stop_at, a.ended_at, a.stage_at, a.exits_at_stop, a.saved_at);
    since(7, a.held_back);
  }
  void add(const Job& j) {
    all(j.id, spec_digest(j.spec), j.phase, j.outcome, j.held, j.cancel_requested,
        j.requeue_requested, j.priority, j.exit_code, j.retries_used, j.array, j.array_index,
        j.submitted_at, j.eligible_at, j.ended_at, j.submitted_seq, j.attempts, j.nodes_avoided,
        j.ran_before, j.checkpoint_at, j.preemptions, j.preempted_at, j.requeues_in_a_row,
        j.at_head);
    // 0 while nothing is learned; logs without it keep their hashes.
    if (j.learned_key != 0) all(j.learned_key, j.likely_ms);
    since(7, j.not_before);
    since(10, j.cancelled_by);
  }
  void add(const RunCounts& c) { all(c.ended, c.ran_ms); }
  void add(const UserRuns& r) { all(r.all, r.by_width); }
  void add(const Learned& l) {
    for (const std::int64_t spent : l.service.spent_ms) add(spent);
    for (const std::int64_t ended : l.service.ended) add(ended);
    for (const std::int64_t left : l.outlook.left_ms) add(left);
    all(l.service.jobs_ended, l.service.ran_ms, l.outlook.mean_run, l.runs.all, l.runs.by_user,
        l.next_look, l.waiting_ms);
  }
  void add(const Device& d) { all(d.kind, d.vendor, d.model, d.uuid, d.memory_bytes, d.numa_node); }
  void add(const Link& l) { all(l.device_a, l.device_b, l.kind); }
  void add(const NumaNode& n) { all(n.cores, n.memory_bytes); }
  void add(const Inventory& i) {
    all(i.numa, i.devices, i.links, i.countables, i.memory_bytes);
    if (i.has_overlay) add(true);  // snapshots from before it was there keep their hash
    if (!i.thread_order.empty()) since(12, i.thread_order, i.threads_per_core);  // likewise
  }
  void add(const NodeDeclaration& d) {
    all(d.name, d.drained, d.drain_reason, d.features, d.countables, d.cores_reserved,
        d.memory_reserved_bytes, d.topology);
    add_labels(d.labels);
  }
  void add(const TopologyUnit& t) { all(t.level, t.name); }
  void add(const Node& n) {
    all(n.id, n.name, n.boot_id, n.backend, n.address, n.agent_token_sha256);
    if (n.inventory != nullptr) add(*n.inventory);
    all(n.declared, n.contact, n.contact_since, n.removed, n.cores_free, n.device_free_milli,
        n.slots_taken, n.memory_free_bytes, n.countables_free, n.jobs);
    all(n.version, n.preflight_port, n.life, n.life_since, n.life_why, n.life_who, n.remedy,
        n.answer, n.request, n.findings, n.faults, n.votes);
    since(4, n.machine_id, n.awaited, n.agreed);
    since(7, n.executors);
  }
  void add(const ForeignAllocation& f) {
    all(f.id, f.cores, f.devices, f.memory_bytes, f.user, f.account, f.name, f.partition,
        f.priority, f.started_at, f.ends_by);
    // Snapshots from before it was there keep their hash.
    if (f.may_requeue) since(12, true);
  }
  void add(const NodeExecutor& e) {
    all(e.name, e.state, e.why, e.foreign, e.placeholders, e.contact);
    since(12, e.features);
  }
  void add(const IdleRule& r) {
    all(r.name, r.users, r.projects, r.exempt, r.sessions_only, r.no_input_for, r.window,
        r.gpu_percent, r.gpu_memory_percent, r.cpu_percent, r.any, r.lifetime, r.grace, r.warning);
    since(11, r.apps);
    add_labels(r.labels);
  }
  void add(const IdleNotice& n) {
    all(n.attempt, n.check, n.rule, n.evidence, n.observed_at, n.ends_at);
  }
  void add(const Executor& e) {
    all(e.name, e.service_account, e.nodes, e.placeholders, e.queues);
    since(10, e.gate, e.runs_jobs, e.lendable);
    if (!e.preempts.empty()) since(12, e.preempts);
    if (!e.yields_to.empty()) since(12, e.preempts, e.yields_to);
    add_labels(e.labels);
  }
  void add(const ForeignUse& u) {
    all(u.id, u.account, u.from, u.to, u.cores, u.gpus_milli, u.memory_bytes);
  }
  void add(const Unwatched& u) { all(u.from, u.to, u.counted, u.ended); }
  void add(const ExecutorStanding& s) {
    all(s.contact, s.since, s.why);
    // Logs from before they were there keep their hash.
    if (s.watched_until.us != 0) since(12, s.watched_until, s.watched_in, s.unwatched);
  }
  void add(const PlaceholderKey& k) { all(k.job, k.attempt, k.node, k.executor); }
  void add(const Placeholder& p) { all(p.stage, p.since, p.id, p.why); }
  void add(const Finding& v) { all(v.check, v.severity, v.remedy, v.device, v.evidence); }
  void add(const OpenFinding& v) { all(v.finding, v.since); }
  void add(const LinkVote& v) {
    all(v.peer, v.at);
    if (v.job) add(v.job);
  }
  void add(const Agreed& a) { all(a.fence, a.disconnect_grace, a.outage_grace); }
  void add(const NodeRequest& r) { all(r.action, r.now, r.by, r.why, r.who); }
  void add(const Limits& l) {
    all(l.jobs_running, l.jobs_waiting, l.cores, l.gpus_milli, l.memory_bytes, l.countables,
        l.gpus_by_model);
    since(10, l.gpu_ms_month, l.job);
  }
  void add(const Quota& q) {
    all(q.cores, q.gpus_milli, q.memory_bytes, q.countables, q.gpus_by_model);
  }
  void add(const Pool& p) {
    all(p.name, p.nodes, p.is_default, p.time_limit_default, p.time_limit_max, p.open, p.users,
        p.projects, p.domains, p.run_as, p.preflight);
    // Snapshots from before it was there keep their hash.
    if (p.exclusive) add(true);
    if (p.affinity != Affinity::kDefault) add(p.affinity);
    add_labels(p.labels);
  }
  void add(const Queue& q) {
    all(q.name, q.priority, q.limits, q.open, q.parent, q.guaranteed, q.weight, q.band, q.order,
        q.promises);
    // Snapshots from before they were there keep their hash.
    const QueueWeights& w = q.weights;
    if (w != QueueWeights{}) all(w.cores, w.gpus, w.memory);
    add_labels(q.labels);
  }
  void add(const UserLimit& u) {
    all(u.name, u.limits);
    add_labels(u.labels);
  }
  void add(const UserDeclaration& u) {
    all(u.name, u.linux_user, u.admin, u.token_sha256, u.domain);
    since(5, u.disabled, u.service_of);
    since(6, u.identity);
    since(8, u.ssh_keys, u.notices);
    since(10, u.password_hash, u.token_expires_at);
    add_labels(u.labels);
  }
  void add(const NoticeTarget& t) { all(t.by, t.to, t.about); }
  void add(const Project& p) {
    all(p.name, p.domain, p.users, p.limits);
    add_labels(p.labels);
  }
  void add(const Key& k) {
    all(k.id, k.user, k.name, k.scope, k.issued_at, k.expires_at);
    since(5, k.kind, k.is_administrators);
  }
  void add(const JobLimits& l) {
    all(l.nodes, l.cores, l.gpus_milli, l.memory_bytes, l.time_limit);
  }
  void add(const Domain& d) {
    all(d.name, d.title);
    since(9, d.limits);
    add_labels(d.labels);
  }
  void add(const App& a) {
    all(a.name, a.title, a.domain, a.project, a.job);
    add_labels(a.labels);
  }
  void add(const Settings& s) {
    all(s.name, s.domain, s.project, s.job, s.locked);
    add_labels(s.labels);
  }
  void add(const Secret& s) {
    all(s.name, s.user, s.project, s.sealed, s.set_at);
    add_labels(s.labels);
  }
  void add(const Lendable& l) { all(l.nodes, l.devices, l.cores, l.memory_bytes); }
  void add(const MonthUse& u) { all(u.month, u.gpu_ms, u.at); }
  void add(const Forgotten& f) { all(f.use, f.jobs, f.since); }
  void add(const ForgottenKey& k) { all(k.day, k.user, k.project, k.queue); }
  void add(const ForgottenUse& u) { all(u.gpu_milli_ms, u.core_ms, u.jobs); }
  void add(const Group& g) {
    all(g.name, g.domain, g.users, g.groups);
    add_labels(g.labels);
  }
  void add(const Binding& b) {
    all(b.name, b.role, b.domain, b.project, b.users, b.groups);
    add_labels(b.labels);
  }
  void add(const Reservation& r) {
    all(r.name, r.nodes, r.starts_at, r.ends_at, r.outage, r.users, r.projects);
    since(2, r.spares_for);
    add_labels(r.labels);
  }
  void add(const PastUse& p) { all(p.amount, p.at); }
  void add(const Hang& h) {
    all(h.attempt, h.node, h.is_one, h.rank, h.ranks, h.step, h.silent, h.at);
  }
  void add(const PromiseRecord& p) { all(p.start_at, p.made_at, p.placements, p.cleared); }
  void add(const ClusterSettings& s) {
    all(s.name, s.fence, s.disconnect_grace, s.silent_after, s.effect_deadline, s.array_max,
        s.jobs_max, s.ended_jobs_kept, s.ended_jobs_max, s.countables, s.order,
        s.fair_share_half_life, s.preemption, s.requeues_max, s.max_unavailable, s.node_tests,
        s.preflight, s.lemon_faults, s.lemon_window, s.placement, s.hang_after, s.on_hang,
        s.slow_percent, s.slow_reports);
    since(4, s.outage_grace);
    since(5, s.job_visibility);
    // Snapshots from before these were there keep their hash.
    if (s.affinity != Affinity::kSingle) add(s.affinity);
    if (!s.job_link_votes) add(s.job_link_votes);
    if (s.multifactor != MultifactorWeights{}) add(s.multifactor);
    add_labels(s.labels);
  }
  void add(const MultifactorWeights& w) {
    all(w.age, w.age_span, w.fair_share, w.size, w.priority, w.queue_priority);
  }
  void add(const JoinToken& t) { all(t.node_name, t.expires_at); }
  void add(const ArmedBoot& b) { all(b.until, b.used_at, b.used_by); }
  void add(const BootConfig& c) {
    all(c.name, c.nodes, c.controller, c.kernel, c.initrd, c.arguments, c.image, c.image_sha256,
        c.from, c.from_root, c.secret_sha256, c.token_lifetime);
    add_labels(c.labels);
  }
  void add(const Usage& u) {
    all(u.jobs_running, u.jobs_waiting, u.cores, u.gpus_milli, u.memory_bytes, u.countables,
        u.gpus_by_model);
  }

  std::uint64_t value() const { return digest_.value(); }

 private:
  // Elements of an array share their spec and follow one another.
  std::uint64_t spec_digest(const std::shared_ptr<const JobSpec>& spec) {
    // Otherwise an array of 10 000 elements would have its spec hashed 10 000 times.
    if (spec != last_spec_) {
      Hash hash(level_);
      hash.add(*spec);
      last_spec_ = spec;
      last_spec_digest_ = hash.value();
    }
    return last_spec_digest_;
  }

  int level_;
  Digest digest_;
  std::shared_ptr<const JobSpec> last_spec_;
  std::uint64_t last_spec_digest_ = 0;
};

}  // namespace

std::uint64_t state_hash(const State& s, int level) {
  Hash hash(level);
  hash.all(s.now, s.head, s.epoch, s.next_job, s.jobs, s.nodes, s.settings, s.pools, s.queues,
           s.user_limits, s.users, s.node_declarations, s.join_tokens, s.usage_by_user,
           s.usage_by_queue, s.usage, s.projects, s.reservations, s.usage_by_project,
           s.asked_by_project, s.past_by_user, s.past_by_queue, s.counts_models, s.promises,
           s.hangs);
  // Logs from before it was there keep their hashes.
  hash.since(5, s.domains, s.groups, s.bindings);
  hash.since(7, s.executors, s.standings, s.placeholders);
  hash.since(8, s.idle_rules, s.idle, s.kept, s.shared);
  hash.since(9, s.apps, s.job_settings, s.secrets, s.month_by_user, s.month_by_project,
             s.month_by_domain, s.month_by_queue, s.usage_by_domain, s.asked_by_domain,
             s.incarnation, s.restored_at);
  hash.since(12, s.level);
  if (!s.round_robin.empty()) hash.add(s.round_robin);
  if (s.forgotten.jobs > 0) hash.add(s.forgotten);
  if (!s.keys.empty()) hash.add(s.keys);
  if (s.learned.kept) hash.add(s.learned);
  if (!s.boot_configs.empty() || !s.armed_boots.empty()) hash.all(s.boot_configs, s.armed_boots);
  return hash.value();
}

bool has_state_hash(const State& state, std::uint64_t hash) {
  // The newest first: nearly every hash is of this program's own level.
  for (int level = kHashLevel; level >= 1; --level) {
    if (state_hash(state, level) == hash) return true;
  }
  return false;
}

}  // namespace dove::core
