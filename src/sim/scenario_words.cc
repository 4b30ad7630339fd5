#include "sim/scenario_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "codec/words.h"
#include "text/words.h"

namespace dove::sim {

std::vector<std::string> split(std::string_view text, char at) {
  return text::split(text, {&at, 1});
}

namespace {

// 0, the enumeration's first, for a word that it does not have.
std::size_t index_of(std::span<const std::string_view> words, const std::string& word) {
  const auto at = std::find(words.begin(), words.end(), word);
  return at == words.end() ? 0 : static_cast<std::size_t>(at - words.begin());
}

Error bad(std::string message) {
  return Error{ErrorKind::kInvalid, "bad_scenario", std::move(message), ""};
}

Result<std::int64_t> read_number(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return bad(fmt::format("\"{}\" is not a number", digits));
  }
  return value;
}

Request read_request(Options& options, const std::string& prefix) {
  Request request;
  request.cores = static_cast<std::int32_t>(options.amount(prefix + "cores"));
  request.memory_bytes = options.amount(prefix + "mem");
  request.gpus = static_cast<std::int32_t>(options.amount(prefix + "gpus"));
  request.share_milli = static_cast<std::int32_t>(options.amount(prefix + "share"));
  request.slice = options.text(prefix + "profile");
  request.slices =
      static_cast<std::int32_t>(options.amount(prefix + "slices", request.slice.empty() ? 0 : 1));
  request.gpu_model = options.text(prefix + "model");
  request.gpu_memory_bytes = options.amount(prefix + "gpu_mem");
  request.countables = options.countables(prefix + "countable");
  return request;
}

TaskGroup read_group(Options& options, const std::string& prefix) {
  TaskGroup group;
  group.tasks = static_cast<std::int32_t>(options.amount(prefix + "tasks", 1));
  const auto nodes = split(options.text(prefix + "nodes"), '-');
  if (!nodes.empty()) {
    group.nodes_min = std::atoi(nodes.front().c_str());
    group.nodes_max = std::atoi(nodes.back().c_str());
  }
  group.tasks_per_node = static_cast<std::int32_t>(options.amount(prefix + "tpn"));
  group.per_task = read_request(options, prefix);
  group.per_node = read_request(options, prefix + "node.");
  group.affinity = read_affinity(options.text(prefix + "affinity"));
  return group;
}

void read_dependencies(Options& options, const FindJob& find_job, JobSpec& spec) {
  const std::pair<const char*, DependencyKind> kinds[] = {
      {"after", DependencyKind::kAfter},           {"afterok", DependencyKind::kAfterOk},
      {"afternotok", DependencyKind::kAfterNotOk}, {"afterany", DependencyKind::kAfterAny},
      {"aftercorr", DependencyKind::kAfterCorr},
  };
  for (const auto& [word, kind] : kinds) {
    for (const std::string& item : options.list(word)) {
      const auto parts = split(item, '+');
      Dependency one;
      one.kind = kind;
      one.job = find_job(parts.front());
      if (parts.size() > 1) {
        const auto delay = read_span(parts.back());
        if (delay.ok()) one.delay = *delay;
      }
      spec.dependencies.push_back(one);
    }
  }
  if (options.flag("singleton")) {
    spec.dependencies.push_back({DependencyKind::kSingleton, JobId{}, {}});
  }
  spec.any_dependency = options.flag("any");
}

void read_preempt(Options& options, JobSpec& spec) {
  const std::string mode = options.text("preempt");
  if (mode == "checkpoint") spec.preempt = Preempt::kCheckpoint;
  if (mode == "restart") spec.preempt = Preempt::kRestart;
  spec.checkpoint_grace = options.span("checkpoint_grace");
  spec.slice_min = options.span("slice");
  spec.kill_grace = options.span("kill_grace", spec.kill_grace);
}

void read_array(const std::string& text, JobSpec& spec) {
  const auto parts = split(text, '%');
  if (parts.empty()) return;
  for (const std::string& range : split(parts.front(), ',')) {
    const auto ends = split(range, '-');
    for (int i = std::atoi(ends.front().c_str()); i <= std::atoi(ends.back().c_str()); ++i) {
      spec.array.indices.push_back(i);
    }
  }
  if (parts.size() > 1) spec.array.running_max = std::atoi(parts.back().c_str());
}

// domain=rack, domain=rack! when it is required; spread, pack; label, near, apart.
void read_nearness(Options& options, JobSpec& spec) {
  spec.domain = options.text("domain");
  if (spec.domain.ends_with('!')) {
    spec.domain.pop_back();
    spec.domain_required = true;
  }
  if (options.flag("spread")) spec.spread = Spread::kSpread;
  if (options.flag("pack")) spec.spread = Spread::kPack;
  spec.label = options.text("label");
  spec.near_labels = options.list("near");
  spec.apart_labels = options.list("apart");
}

}  // namespace

Result<Span> read_span(const std::string& text) {
  const std::size_t unit = text.find_first_not_of("0123456789");
  TRY_ASSIGN(const std::int64_t value, read_number(std::string_view(text).substr(0, unit)));
  const std::string name = unit == std::string::npos ? "" : text.substr(unit);
  if (name == "ms") return milliseconds(value);
  if (name == "s") return seconds(value);
  if (name == "m") return seconds(60 * value);
  if (name == "h") return seconds(3600 * value);
  return bad(fmt::format("\"{}\" is not a time: write 250ms, 10s, 5m or 2h", text));
}

Result<std::int64_t> read_amount(const std::string& text) {
  int shift = 0;
  std::string_view digits = text;
  if (!digits.empty()) {
    if (digits.back() == 'K') shift = 10;
    if (digits.back() == 'M') shift = 20;
    if (digits.back() == 'G') shift = 30;
  }
  if (shift > 0) digits.remove_suffix(1);
  TRY_ASSIGN(const std::int64_t value, read_number(digits));
  return value * (std::int64_t{1} << shift);
}

Result<Options> Options::read(const std::vector<std::string>& words) {
  Options options;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (options.given_.contains(key)) return bad(fmt::format("\"{}\" is given twice", key));
    options.given_[key] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return options;
}

const std::string* Options::find(const std::string& name) {
  const auto at = given_.find(name);
  if (at == given_.end()) return nullptr;
  used_.insert(name);
  return &at->second;
}

bool Options::flag(const std::string& name) { return find(name) != nullptr; }

std::string Options::text(const std::string& name, const std::string& otherwise) {
  const std::string* value = find(name);
  return value == nullptr ? otherwise : *value;
}

std::int64_t Options::amount(const std::string& name, std::int64_t otherwise) {
  const std::string* value = find(name);
  if (value == nullptr) return otherwise;
  const auto amount = read_amount(*value);
  if (amount.ok()) return *amount;
  if (wrong_.empty()) wrong_ = fmt::format("{}: {}", name, amount.error().message);
  return otherwise;
}

Span Options::span(const std::string& name, Span otherwise) {
  const std::string* value = find(name);
  if (value == nullptr) return otherwise;
  const auto span = read_span(*value);
  if (span.ok()) return *span;
  if (wrong_.empty()) wrong_ = fmt::format("{}: {}", name, span.error().message);
  return otherwise;
}

std::vector<std::string> Options::list(const std::string& name) {
  std::vector<std::string> items;
  std::string item;
  int depth = 0;
  for (char c : text(name)) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      items.push_back(std::exchange(item, {}));
    } else {
      item.push_back(c);
    }
  }
  if (!item.empty()) items.push_back(item);
  return items;
}

std::vector<Countable> Options::countables(const std::string& prefix) {
  std::vector<Countable> found;
  for (const auto& [key, value] : given_) {
    if (key.starts_with(prefix + ".")) {
      found.push_back({key.substr(prefix.size() + 1), amount(key)});
    }
  }
  return found;
}

Result<void> Options::finish() const {
  if (!wrong_.empty()) return bad(wrong_);
  for (const auto& [key, value] : given_) {
    if (!used_.contains(key)) return bad(fmt::format("\"{}\" means nothing here", key));
  }
  return {};
}

JobSpec read_spec(const std::string& name, Options& options, const FindJob& find_job) {
  JobSpec spec;
  spec.name = options.text("name", name);
  spec.user = options.text("user", "ann");
  spec.queue = options.text("queue", "default");
  spec.pool = options.text("pool");
  spec.project = options.text("project");
  spec.priority = static_cast<std::int32_t>(options.amount("priority"));
  if (options.flag("batch")) spec.launch = LaunchMode::kBatch;
  spec.groups.push_back(read_group(options, ""));
  if (options.flag("second.tasks")) spec.groups.push_back(read_group(options, "second."));
  spec.cluster_requests = options.countables("cluster");
  spec.time_limit = options.span("limit");
  spec.begin_at = Instant{options.span("begin").us};
  if (options.flag("deadline")) spec.deadline = kBegin + options.span("deadline");
  spec.reservation = options.text("reservation");
  spec.project = options.text("project");
  read_dependencies(options, find_job, spec);
  read_array(options.text("array"), spec);
  spec.retries_max = static_cast<std::int32_t>(options.amount("retries"));
  spec.requeue = !options.flag("norequeue");
  read_preempt(options, spec);
  spec.executor = options.text("executor");
  spec.foreign_job = options.text("foreign_job");
  spec.hold = options.flag("hold");
  spec.exclusive = options.flag("exclusive");
  spec.features = options.list("features");
  spec.nodes_wanted = options.list("wanted");
  spec.nodes_excluded = options.list("excluded");
  read_nearness(options, spec);
  return spec;
}

std::shared_ptr<const Inventory> read_inventory(Options& options) {
  auto inventory = std::make_shared<Inventory>();
  const auto numa = std::max<std::int64_t>(options.amount("numa", 1), 1);
  const std::int64_t cores = options.amount("cores", 8);
  const std::int64_t gpus = options.amount("gpus");
  inventory->memory_bytes = options.amount("mem", std::int64_t{64} << 30);
  inventory->numa.resize(static_cast<std::size_t>(numa));
  for (std::int64_t i = 0; i < cores; ++i) {
    inventory->numa[static_cast<std::size_t>(i * numa / cores)].cores.insert(
        static_cast<std::int32_t>(i));
  }
  for (std::int64_t i = 0; i < gpus; ++i) {
    Device device;
    device.model = options.text("model", "H200");
    device.memory_bytes = options.amount("gpu_mem", std::int64_t{141} << 30);
    device.numa_node = static_cast<std::int32_t>(i * numa / gpus);
    inventory->devices.push_back(device);
  }
  inventory->countables = options.countables("countable");
  return inventory;
}

NodeDeclaration read_declaration(const std::string& name, Options& options) {
  NodeDeclaration declaration;
  declaration.name = name;
  declaration.drained = options.flag("drained");
  declaration.features = options.list("features");
  declaration.cores_reserved = static_cast<std::int32_t>(options.amount("cores_reserved"));
  declaration.memory_reserved_bytes = options.amount("mem_reserved");
  declaration.countables = options.countables("declared");
  // in=switch:s1,rack:r1, widest first
  for (const std::string& unit : options.list("in")) {
    const auto parts = split(unit, ':');
    declaration.topology.push_back({parts.front(), parts.back()});
  }
  return declaration;
}

Finding read_finding(Options& options) {
  Finding finding;
  finding.check = options.text("check", "xid");
  finding.severity =
      static_cast<Severity>(index_of(codec::severities(), options.text("severity", "fault")));
  finding.remedy = static_cast<Remedy>(index_of(codec::remedies(), options.text("remedy", "none")));
  finding.device = static_cast<std::int32_t>(options.amount("device", -1));
  finding.evidence = options.text("evidence", "scenario");
  return finding;
}

NodeAction read_action(const std::string& word) {
  return static_cast<NodeAction>(index_of(codec::node_actions(), word));
}

Affinity read_affinity(const std::string& word) {
  if (word == "single") return Affinity::kSingle;
  return word == "interleaved" ? Affinity::kInterleaved : Affinity::kDefault;
}

OnHang read_on_hang(const std::string& word) {
  return static_cast<OnHang>(index_of(codec::on_hang_modes(), word));
}

Limits read_limits(Options& options) {
  Limits limits;
  limits.jobs_running = static_cast<std::int32_t>(options.amount("jobs", -1));
  limits.jobs_waiting = static_cast<std::int32_t>(options.amount("waiting", -1));
  limits.cores = static_cast<std::int32_t>(options.amount("cores", -1));
  limits.gpus_milli = static_cast<std::int32_t>(options.amount("gpus_milli", -1));
  limits.memory_bytes = options.amount("mem", -1);
  const std::int64_t hours = options.amount("gpu_hours_month", -1);
  if (hours >= 0) limits.gpu_ms_month = hours * 3600 * 1000;
  limits.job.cores = static_cast<std::int32_t>(options.amount("job.cores", -1));
  limits.job.gpus_milli = static_cast<std::int32_t>(options.amount("job.gpus_milli", -1));
  limits.job.nodes = static_cast<std::int32_t>(options.amount("job.nodes", -1));
  limits.job.time_limit = options.span("job.limit");
  limits.countables = options.countables("countable");  // "slice:1g.10gb" among them
  limits.gpus_by_model = options.countables("model");
  return limits;
}

void read_weights(Options& options, Queue& queue) {
  queue.weight = static_cast<std::int32_t>(options.amount("weight", 1));
  queue.weights.cores = static_cast<std::int32_t>(options.amount("weight_cores", 0));
  queue.weights.gpus = static_cast<std::int32_t>(options.amount("weight_gpus", 0));
}

void read_weights(Options& options, MultifactorWeights& weights) {
  weights.age = options.amount("weight_age", weights.age);
  weights.age_span = options.span("age_span", weights.age_span);
  weights.fair_share = options.amount("weight_fair_share", weights.fair_share);
  weights.size = options.amount("weight_size", weights.size);
  weights.priority = options.amount("weight_priority", weights.priority);
  weights.queue_priority = options.amount("weight_queue_priority", weights.queue_priority);
}

Quota read_quota(Options& options) {
  Quota quota;
  quota.cores = options.amount("guaranteed.cores");
  quota.gpus_milli = options.amount("guaranteed.gpus_milli");
  quota.memory_bytes = options.amount("guaranteed.mem");
  quota.countables = options.countables("guaranteed.countable");
  quota.gpus_by_model = options.countables("guaranteed.model");
  return quota;
}

}  // namespace dove::sim
