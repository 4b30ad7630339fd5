#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codec/words.h"
#include "core/admit/admit.h"
#include "core/explain/explain.h"
#include "core/queue/policy.h"
#include "core/state/findings.h"
#include "core/state/state.h"
#include "sim/checked_brain.h"
#include "sim/scenario_executors.h"
#include "sim/scenario_idle.h"
#include "sim/scenario_words.h"

namespace dove::sim {
namespace {

Error bad(std::string message) {
  return Error{ErrorKind::kInvalid, "bad_scenario", std::move(message), ""};
}

struct Line {
  Span at;
  std::string verb;
  std::string name;
  std::vector<std::string> rest;
};

Result<Line> read_line(const std::string& text) {
  std::vector<std::string> words = split(text, ' ');
  Line line;
  TRY_ASSIGN(line.at, read_span(words.front()));
  if (words.size() > 1) line.verb = words[1];
  if (words.size() > 2) line.name = words[2];
  if (words.size() > 3) line.rest.assign(words.begin() + 3, words.end());
  return line;
}

class Runner {
 public:
  explicit Runner(const core::Policies& policies) : brain_(policies) {
    names_.job = [this](JobId id) { return job_name(id); };
    names_.node = [this](NodeId id) { return state().find_node(id)->name; };
  }

  Result<std::string> run(std::string_view input) {
    TRY(step(Instant{kBegin.us}));
    brain_.add(ControllerStarted{"", "", kNewestLevel});
    std::size_t number = 0;
    std::string rest(input);
    for (std::size_t begin = 0; begin < rest.size(); ++number) {
      const std::size_t end = std::min(rest.find('\n', begin), rest.size());
      const std::string text = rest.substr(begin, end - begin);
      begin = end + 1;
      if (text.empty() || text.front() == '#' || text == "----") continue;
      const Result<void> done = take(text);
      if (!done.ok()) return bad(fmt::format("line {}: {}", number + 1, done.error().message));
    }
    TRY(step(state().now));
    TRY(brain_.check_fold());
    return out_;
  }

 private:
  const core::State& state() const { return brain_.state(); }

  std::string job_name(JobId id) const {
    const auto at = names_of_jobs_.find(id);
    return at == names_of_jobs_.end() ? fmt::format("{}", id.value) : at->second;
  }

  // "a", or "a[3]" for the element of that index.
  JobId find_job(const std::string& name) const {
    const auto at = jobs_.find(name);
    return at == jobs_.end() ? JobId{} : at->second;
  }

  NodeId find_node(const std::string& name) const {
    const core::Node* node = state().find_node(name);
    return node == nullptr ? NodeId{} : node->id;
  }

  void print(const std::string& text) {
    out_ += fmt::format("{}  {}\n", span_text(state().now - kBegin), text);
  }

  static std::string span_text(Span span) {
    return span.us % 1'000'000 == 0 ? fmt::format("{}s", span.us / 1'000'000)
                                    : fmt::format("{}ms", span.us / 1'000);
  }

  // Ends the batch under way, and lets time pass to `at`, waking when the brain asked for it.
  Result<void> step(Instant at) {
    for (int wakes = 0; wakes < 1000; ++wakes) {
      TRY_ASSIGN(const auto decisions, brain_.decide());
      for (const Decision& decision : decisions) print(text_of(decision, names_));
      const Instant wake = brain_.wake_at();
      if (wake >= at) {
        brain_.begin(at);
        return {};
      }
      brain_.begin(std::max(wake, state().now));
      brain_.add(TimeReached{});
    }
    return bad("the brain asks to be woken without end");
  }

  Result<void> take(const std::string& text) {
    TRY_ASSIGN(const Line line, read_line(text));
    const Instant at = kBegin + line.at;
    if (at < state().now) return bad("time goes back");
    if (at > state().now || line.verb == "why" || line.verb == "show" || line.verb == "health")
      TRY(step(at));
    if (line.verb.empty()) return {};
    TRY_ASSIGN(Options options, Options::read(line.rest));
    TRY_ASSIGN(const bool known, dispatch(line, options));
    if (!known) return bad(fmt::format("\"{}\" is not a word of scenarios", line.verb));
    return options.finish();
  }

  Result<bool> dispatch(const Line& line, Options& options) {
    if (line.verb == "submit") return submit(line.name, options);
    if (line.verb == "why") return why(line.name);
    if (line.verb == "show") return show(line.name);
    if (line.verb == "health") return health(line.name);
    if (line.verb == "checkpoint") return checkpoint(line.name);
    if (line.verb == "progress") return progress(line.name, options);
    if (line.verb == "hang" || line.verb == "moves") return hang(line, options);
    TRY_ASSIGN(const bool report, take_report(line, options));
    if (report) return true;
    const auto idle = idle_events(state(), line.verb, find_job(line.name), options);
    if (idle.has_value()) {
      brain_.add(*idle);
      return true;
    }
    const auto said = executor_events(state(), line.verb, line.name, options,
                                      [this](const std::string& job) { return find_job(job); });
    for (const Event& event : said) brain_.add(event);
    if (!said.empty()) return true;
    return take_node(line, options) || take_request(line, options) || reserve(line, options) ||
           declare(line, options);
  }

  Result<bool> submit(const std::string& name, Options& options) {
    auto spec = std::make_shared<const JobSpec>(
        read_spec(name, options, [this](const std::string& job) { return find_job(job); }));
    const auto admitted = core::admit(state(), *spec);
    if (!admitted.ok()) {
      print(
          fmt::format("refused {}: {} ({})", name, admitted.error().code, admitted.error().field));
      return true;
    }
    JobId id(state().next_job);
    jobs_[name] = id;
    if (spec->array.indices.empty()) names_of_jobs_[id] = name;
    for (std::int32_t index : spec->array.indices) {
      names_of_jobs_[id] = fmt::format("{}[{}]", name, index);
      jobs_[names_of_jobs_[id]] = id;
      ++id.value;
    }
    brain_.add(JobSubmitted{std::move(spec)});
    return true;
  }

  Result<bool> why(const std::string& name) {
    const JobId id = find_job(name);
    if (state().find_job(id) == nullptr) return bad("why of an unknown job");
    const auto reasons = core::explain(state(), brain_.policies(), id);
    if (reasons.empty()) print(fmt::format("why {}: nothing", name));
    for (const Reason& reason : reasons) {
      print(fmt::format("why {}: {}", name, text_of(reason, names_)));
    }
    return true;
  }

  // The job says that it has saved its work.
  bool checkpoint(const std::string& name) {
    const core::Job* job = state().find_job(find_job(name));
    if (job == nullptr || job->attempts.empty()) return false;
    brain_.add(CheckpointTaken{job->id, job->attempts.back().number});
    return true;
  }

  // progress JOB on=NODE step=8 busy_ms=200 [slowest=3 ranks=8 typical_ms=100]
  Result<bool> progress(const std::string& name, Options& options) {
    const core::Job* job = state().find_job(find_job(name));
    if (job == nullptr || job->attempts.empty()) return bad("progress of an unknown attempt");
    ProgressReported report;
    report.job = job->id;
    report.attempt = job->attempts.back().number;
    report.node = find_node(options.text("on"));
    report.step = options.amount("step");
    report.busy = milliseconds(options.amount("busy_ms"));
    report.slowest = static_cast<Rank>(options.amount("slowest"));
    report.ranks = static_cast<std::int32_t>(options.amount("ranks", 1));
    report.typical = milliseconds(options.amount("typical_ms"));
    brain_.add(report);
    return true;
  }

  // hang JOB on=NODE silent=600s step=8 ranks=3 [rank=2] [attempt=1] ; moves JOB: it is over.
  Result<bool> hang(const Line& line, Options& options) {
    const core::Job* job = state().find_job(find_job(line.name));
    if (job == nullptr || job->attempts.empty()) return bad("a hang of an unknown attempt");
    const auto attempt =
        static_cast<AttemptNumber>(options.amount("attempt", job->attempts.back().number));
    if (line.verb == "moves") {
      brain_.add(HangEnded{job->id, attempt});
      return true;
    }
    HangObserved hang;
    hang.job = job->id;
    hang.attempt = attempt;
    hang.node = find_node(options.text("on"));
    hang.is_one = options.flag("rank");
    hang.rank = static_cast<Rank>(options.amount("rank"));
    hang.ranks = static_cast<std::int32_t>(options.amount("ranks", 1));
    hang.step = options.amount("step");
    hang.silent = options.span("silent");
    brain_.add(hang);
    return true;
  }

  // What a node has free.
  Result<bool> show(const std::string& name) {
    const core::Node* node = state().find_node(name);
    if (node == nullptr) return bad("show of an unknown node");
    std::string milli;
    for (std::int32_t free : node->device_free_milli) milli += fmt::format(" {}", free);
    print(fmt::format("show {}: cores={} devices={} mem={}M", name,
                      ranges_of(node->cores_free.ids()), milli.empty() ? " none" : milli,
                      node->memory_free_bytes >> 20));
    return true;
  }

  // What is found of a node.
  Result<bool> health(const std::string& name) {
    const core::Node* node = state().find_node(name);
    if (node == nullptr) return bad("health of an unknown node");
    for (const core::OpenFinding& open : node->findings) {
      print(fmt::format("health {}: {} {}", name, codec::word(open.finding.severity),
                        core::finding_text(open.finding)));
    }
    return true;
  }

  // prepared|started|ended|failed|task JOB NODE: a report of the current attempt; NODE may be *.
  Result<bool> take_report(const Line& line, Options& options) {
    static const std::set<std::string> verbs = {"prepared", "started", "ended", "failed",
                                                "task",     "unfit",   "link"};
    if (!verbs.contains(line.verb)) return false;
    const core::Job* job = state().find_job(find_job(line.name));
    if (job == nullptr || job->attempts.empty()) return bad("a report of an unknown attempt");
    TaskExit exit;
    exit.exit_code = static_cast<std::int32_t>(options.amount("exit"));
    exit.signal = static_cast<std::int32_t>(options.amount("signal"));
    exit.cause = options.text("cause", options.text("peer"));
    const auto number =
        static_cast<AttemptNumber>(options.amount("attempt", job->attempts.back().number));
    const std::string on = options.text("on", "*");
    const Span started_ago = options.span("started_ago");
    const auto rank = static_cast<Rank>(options.amount("rank"));
    const core::Attempt attempt = job->attempts[number - 1];
    for (const core::PlacementRecord& record : attempt.placements) {
      const NodeId node = record.placement->node;
      if (on != "*" && on != names_.node(node)) continue;
      add_report(line.verb, *job, number, record.placement, exit, rank, started_ago);
    }
    return true;
  }

  void add_report(const std::string& verb, const core::Job& job, AttemptNumber number,
                  const Placement& placement, TaskExit exit, Rank rank, Span started_ago) {
    const NodeId node = placement.node;
    if (verb == "prepared") brain_.add(PlacementPrepared{job.id, number, node});
    if (verb == "started") brain_.add(PlacementStarted{job.id, number, node, started_ago});
    if (verb == "unfit") {
      const NodeId peer = find_node(exit.cause);
      brain_.add(PreflightFailed{job.id, number, node, peer, "scenario", "no answer"});
    }
    if (verb == "link") brain_.add(LinkBlamed{job.id, number, node, find_node(exit.cause), 0, 0});
    if (verb == "failed") brain_.add(LaunchFailed{job.id, number, node, "scenario"});
    if (verb == "task") {
      exit.rank = rank;
      brain_.add(TaskEnded{job.id, number, node, exit});
    }
    if (verb == "ended") {
      std::vector<TaskExit> exits;
      for (const TaskGrant& task : placement.tasks) {
        exit.rank = task.rank;
        const bool told = job.spec->launch == LaunchMode::kEachTask || task.rank == 0;
        if (told) exits.push_back(exit);
      }
      brain_.add(PlacementEnded{job.id, number, node, exits, 0, 0, started_ago});
    }
  }

  bool take_node(const Line& line, Options& options) {
    const std::string& verb = line.verb;
    const NodeId id = find_node(line.name);
    if (verb == "node") {
      const NodeDeclaration declaration = read_declaration(line.name, options);
      brain_.add(ObjectApplied{declaration});
      NodeRegistered node;
      node.name = line.name;
      node.boot_id = options.text("boot", "boot1");
      node.backend = options.text("backend", node.backend);
      node.inventory = read_inventory(options);
      brain_.add(node);
      brain_.add(NodeConnected{find_node(line.name), node.boot_id});
    } else if (verb == "connect") {
      brain_.add(NodeConnected{id, options.text("boot", state().find_node(id)->boot_id)});
    } else if (verb == "break" || verb == "silent") {
      brain_.add(NodeDisconnected{id, verb == "silent"});
    } else if (verb == "remove") {
      brain_.add(NodeRemoved{id});
    } else if (verb == "drain" || verb == "undrain") {
      NodeDeclaration declaration = state().find_node(id)->declared;
      declaration.drained = verb == "drain";
      brain_.add(ObjectApplied{declaration});
    } else if (verb == "finding") {
      brain_.add(FindingReported{id, read_finding(options)});
    } else if (verb == "ask") {
      ask(id, options);
    } else if (verb == "tested") {
      brain_.add(NodeTested{id, !options.flag("failed"), options.text("evidence", "scenario")});
    } else if (verb == "remedied") {
      brain_.add(RemedyEnded{id, state().find_node(id)->remedy, !options.flag("failed"),
                             options.text("why", "scenario")});
    } else if (verb == "unknown") {
      brain_.add(UnknownTaskObserved{id, JobId(999), 1});
    } else {
      return false;
    }
    return true;
  }

  // ask NODE action=reboot [now] [by=60s] [why=...] : as an administrator.
  void ask(NodeId id, Options& options) {
    NodeActionRequested asked{id, read_action(options.text("action")), options.flag("now"), {}, ""};
    const Span by = options.span("by");
    if (by.us != 0) asked.by = kBegin + by;
    asked.why = options.text("why", "scenario");
    const auto admitted = core::admit(state(), brain_.policies(), asked);
    if (admitted.ok()) return brain_.add(asked);
    print(fmt::format("refused: {} ({})", admitted.error().code, admitted.error().field));
  }

  bool take_request(const Line& line, Options& options) {
    const std::string& verb = line.verb;
    const JobId id = find_job(line.name);
    if (verb == "cancel") {
      brain_.add(JobCancelRequested{id});
    } else if (verb == "hold") {
      brain_.add(JobHeld{id});
    } else if (verb == "release") {
      brain_.add(JobReleased{id});
    } else if (verb == "requeue") {
      brain_.add(JobRequeueRequested{id});
    } else if (verb == "priority") {
      brain_.add(JobPriorityChanged{id, static_cast<std::int32_t>(options.amount("to"))});
    } else if (verb == "restart") {
      brain_.next_epoch();
      brain_.add(ControllerStarted{"", "", kNewestLevel});
    } else {
      return false;
    }
    return true;
  }

  bool apply_object(const Declared& object) {
    const auto admitted = core::admit(state(), brain_.policies(), ObjectApplied{object});
    if (admitted.ok()) {
      brain_.add(ObjectApplied{object});
    } else {
      print(fmt::format("refused: {} ({})", admitted.error().code, admitted.error().field));
    }
    return true;
  }

  bool reserve(const Line& line, Options& options) {
    if (line.verb != "reservation") return false;
    Reservation reservation;
    reservation.name = line.name;
    reservation.nodes = options.list("nodes");
    reservation.starts_at = kBegin + options.span("from");
    reservation.spares_for = static_cast<std::int32_t>(options.amount("spares_for"));
    reservation.ends_at = reservation.spares_for > 0 ? kNever : kBegin + options.span("to");
    reservation.outage = options.flag("outage");
    reservation.users = options.list("users");
    reservation.projects = options.list("projects");
    brain_.add(ObjectApplied{reservation});
    return true;
  }

  bool declare(const Line& line, Options& options) {
    if (line.verb == "pool") {
      Pool pool;
      pool.name = line.name;
      pool.nodes = options.list("nodes");
      pool.is_default = options.flag("default");
      pool.open = !options.flag("closed");
      pool.time_limit_default = options.span("default_limit");
      pool.time_limit_max = options.span("max_limit");
      pool.users = options.list("users");
      pool.projects = options.list("projects");
      pool.exclusive = options.flag("exclusive");
      pool.affinity = read_affinity(options.text("affinity"));
      pool.domains = options.list("domains");
      brain_.add(ObjectApplied{pool});
    } else if (line.verb == "queue") {
      Queue queue;
      queue.name = line.name;
      queue.priority = static_cast<std::int32_t>(options.amount("priority"));
      queue.open = !options.flag("closed");
      queue.promises = static_cast<std::int32_t>(options.amount("promises", queue.promises));
      queue.limits = read_limits(options);
      queue.parent = options.text("parent");
      queue.guaranteed = read_quota(options);
      read_weights(options, queue);
      queue.band = static_cast<std::int32_t>(options.amount("band"));
      queue.order = options.text("order");
      return apply_object(queue);
    } else if (line.verb == "cluster") {
      ClusterSettings settings = state().settings;
      settings.fence = options.span("fence", settings.fence);
      settings.disconnect_grace = options.span("grace", settings.disconnect_grace);
      settings.outage_grace = options.span("outage", settings.outage_grace);
      settings.effect_deadline = options.span("deadline", settings.effect_deadline);
      settings.ended_jobs_kept = options.span("kept", settings.ended_jobs_kept);
      settings.ended_jobs_max =
          static_cast<std::int32_t>(options.amount("kept_max", settings.ended_jobs_max));
      settings.requeues_max =
          static_cast<std::int32_t>(options.amount("requeues_max", settings.requeues_max));
      settings.max_unavailable =
          static_cast<std::int32_t>(options.amount("max_unavailable", settings.max_unavailable));
      settings.lemon_faults =
          static_cast<std::int32_t>(options.amount("lemon_faults", settings.lemon_faults));
      settings.node_tests = options.flag("node_tests");
      settings.job_link_votes = !options.flag("no_job_link_votes");
      settings.on_hang = read_on_hang(options.text("on_hang"));
      settings.countables = options.countables("countable");
      settings.preemption = !options.flag("no_preemption");
      settings.order = options.text("order", settings.order);
      settings.placement = options.text("placement", settings.placement);
      settings.fair_share_half_life = options.span("half_life", settings.fair_share_half_life);
      read_weights(options, settings.multifactor);
      return apply_object(settings);
    } else {
      return declare_holder(line, options);
    }
    return true;
  }

  bool declare_holder(const Line& line, Options& options) {
    if (line.verb == "project") {
      Project project;
      project.name = line.name;
      project.domain = options.text("domain");
      project.users = options.list("users");
      project.limits = read_limits(options);
      return apply_object(project);
    }
    if (line.verb == "domain") return apply_object(Domain{line.name, "", read_limits(options)});
    if (line.verb == "user") {
      UserDeclaration user;
      user.name = line.name;
      user.domain = options.text("domain");
      return apply_object(user);
    }
    if (line.verb != "limit") return false;
    brain_.add(ObjectApplied{UserLimit{line.name, read_limits(options)}});
    return true;
  }

  CheckedBrain brain_;
  Names names_;
  std::map<std::string, JobId> jobs_;
  std::map<JobId, std::string> names_of_jobs_;
  std::string out_;
};

}  // namespace

Scenario split_scenario(std::string_view text) {
  const std::string_view bar = "\n----\n";
  const std::size_t at = text.find(bar);
  if (at == std::string_view::npos) return {std::string(text) + "\n----\n", ""};
  return {std::string(text.substr(0, at + bar.size())), std::string(text.substr(at + bar.size()))};
}

Result<std::string> run_scenario(std::string_view input, const core::Policies& policies) {
  return Runner(policies).run(input);
}

}  // namespace dove::sim
