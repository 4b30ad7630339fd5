#include "sim/traces/openb_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "files/text_file.h"
#include "sim/traces/csv_table.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kCpuMax_milli = 100'000'000;
constexpr std::int64_t kMemoryMax_mib = std::int64_t{1} << 30;
constexpr std::int64_t kDevicesMax = 30;

using Models = std::map<std::string, std::int32_t, std::less<>>;  // index by name

struct NamedNode {
  std::string name;
  core::NodeClass node_class;
};

struct NamedTask {
  std::string name;
  core::TaskShape shape;
  std::string models;  // as written: the list of typical tasks tells spellings apart
};

template <class T>
Result<void> sort_by_name(const CsvTable& table, std::size_t column, std::vector<T>& rows) {
  std::set<std::string_view> seen;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!seen.insert(table.field(row, column)).second) {
      return table.error(
          row, column,
          fmt::format("'{}' is there twice; names must differ", table.field(row, column)));
    }
  }
  std::sort(rows.begin(), rows.end(), [](const T& a, const T& b) { return a.name < b.name; });
  return {};
}

Result<std::vector<NamedNode>> read_nodes(const std::string& path, Models& models) {
  TRY_ASSIGN(const CsvTable table, CsvTable::read(path));
  TRY_ASSIGN(const std::size_t name, table.column("sn"));
  TRY_ASSIGN(const std::size_t cpu, table.column("cpu_milli"));
  TRY_ASSIGN(const std::size_t memory, table.column("memory_mib"));
  TRY_ASSIGN(const std::size_t gpus, table.column("gpu"));
  TRY_ASSIGN(const std::size_t model, table.column("model"));
  std::vector<NamedNode> nodes;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    NamedNode node;
    TRY_ASSIGN(node.name, table.name(row, name));
    TRY_ASSIGN(node.node_class.cpu_milli, table.number(row, cpu, 0, kCpuMax_milli));
    TRY_ASSIGN(const std::int64_t mib, table.number(row, memory, 0, kMemoryMax_mib));
    node.node_class.memory_bytes = mib << 20;
    TRY_ASSIGN(const std::int64_t count, table.number(row, gpus, 0, kDevicesMax));
    node.node_class.devices = static_cast<std::int32_t>(count);
    const auto next = static_cast<std::int32_t>(models.size());
    const auto at = models.try_emplace(std::string(table.field(row, model)), next).first;
    if (at->second >= core::kModelsMax) {
      return table.error(row, model,
                         fmt::format("more than {} models; split the list", core::kModelsMax));
    }
    node.node_class.model = at->second;
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) return error_at(path, 2, 1, "there are no nodes; list one a line");
  TRY(sort_by_name(table, name, nodes));
  return nodes;
}

// "A|B": the models that are there. A name that no node has adds none.
std::uint64_t models_named(std::string_view text, const Models& models) {
  std::uint64_t mask = 0;
  bool any = false;
  while (!text.empty()) {
    const std::size_t bar = std::min(text.find('|'), text.size());
    const std::string_view name = text.substr(0, bar);
    text.remove_prefix(std::min(bar + 1, text.size()));
    if (name.empty()) continue;
    any = true;
    if (const auto at = models.find(name); at != models.end())
      mask |= std::uint64_t{1} << at->second;
  }
  return any ? mask : core::kAnyModel;
}

struct TaskColumns {
  std::size_t name = 0;
  std::size_t cpu = 0;
  std::size_t memory = 0;
  std::size_t gpus = 0;
  std::size_t milli = 0;
};

Result<NamedTask> read_task(const CsvTable& table, std::size_t row, const TaskColumns& at) {
  NamedTask task;
  TRY_ASSIGN(task.name, table.name(row, at.name));
  TRY_ASSIGN(task.shape.cpu_milli, table.number(row, at.cpu, 0, kCpuMax_milli));
  TRY_ASSIGN(const std::int64_t mib, table.number(row, at.memory, 0, kMemoryMax_mib));
  task.shape.memory_bytes = mib << 20;
  TRY_ASSIGN(const std::int64_t gpus, table.number(row, at.gpus, 0, kDevicesMax));
  const bool share = gpus == 1;
  TRY_ASSIGN(const std::int64_t milli, table.number(row, at.milli,
                                                    gpus == 0 ? 0
                                                    : share   ? 1
                                                              : kWholeDevice_milli,
                                                    gpus == 0 ? 0 : kWholeDevice_milli));
  task.shape.devices = static_cast<std::int32_t>(gpus);
  task.shape.device_milli = static_cast<std::int32_t>(milli);
  return task;
}

Result<std::vector<NamedTask>> read_tasks(const std::string& path, const Models& models) {
  TRY_ASSIGN(const CsvTable table, CsvTable::read(path));
  TaskColumns at;
  TRY_ASSIGN(at.name, table.column("name"));
  TRY_ASSIGN(at.cpu, table.column("cpu_milli"));
  TRY_ASSIGN(at.memory, table.column("memory_mib"));
  TRY_ASSIGN(at.gpus, table.column("num_gpu"));
  TRY_ASSIGN(at.milli, table.column("gpu_milli"));
  std::size_t spec = 0;
  const bool names_models = table.has("gpu_spec");
  if (names_models) {
    TRY_ASSIGN(spec, table.column("gpu_spec"));
  }
  std::vector<NamedTask> tasks;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    TRY_ASSIGN(NamedTask task, read_task(table, row, at));
    if (names_models) task.models = table.field(row, spec);
    task.shape.models = models_named(task.models, models);
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) return error_at(path, 2, 1, "there are no tasks; list one a line");
  TRY(sort_by_name(table, at.name, tasks));
  return tasks;
}

struct Arrivals {
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> order;
};

Result<std::vector<std::int64_t>> read_numbers(const std::string& path, std::size_t line,
                                               std::string_view text, std::int64_t most,
                                               std::string_view what) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = text.find_first_not_of(' '); at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    TRY_ASSIGN(const std::int64_t number,
               whole_number(text.substr(at, end - at), 0, most, what, path, line, at + 1));
    numbers.push_back(number);
    at = text.find_first_not_of(' ', end);
  }
  return numbers;
}

Result<void> check_ranks(const std::string& path, std::size_t line,
                         const std::vector<std::int64_t>& ranks, std::size_t nodes) {
  if (ranks.size() != nodes) {
    return error_at(path, line, 1,
                    fmt::format("{} ranks for {} nodes; give one for each node, of the same list",
                                ranks.size(), nodes));
  }
  std::set<std::int64_t> seen;
  for (std::int64_t rank : ranks) {
    if (!seen.insert(rank).second) {
      return error_at(path, line, 1,
                      fmt::format("rank {} is there twice; ranks must differ", rank));
    }
  }
  return {};
}

Result<Arrivals> read_arrivals(const std::string& path, std::size_t nodes, std::size_t tasks) {
  TRY_ASSIGN(const std::string text, files::read_text(path, kTraceBytesMax));
  Arrivals found;
  std::size_t line = 0;
  int read = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++line;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view row = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty() || row.front() == '#') continue;
    if (read == 0) {
      TRY_ASSIGN(found.ranks, read_numbers(path, line, row, std::int64_t{1} << 40, "a rank"));
      TRY(check_ranks(path, line, found.ranks, nodes));
    } else if (read == 1) {
      const auto last = static_cast<std::int64_t>(tasks) - 1;
      TRY_ASSIGN(found.order, read_numbers(path, line, row, last, "the number of a task"));
    } else {
      return error_at(path, line, 1, "a third line of numbers; there are two: ranks, then tasks");
    }
    ++read;
  }
  if (read < 2) {
    return error_at(
        path, line + 1, 1,
        "two lines of numbers are needed: the ranks of the nodes, then the arriving tasks");
  }
  return found;
}

// Distinct tasks (memory does not count), commonest first, until 95 % are covered.
std::vector<core::MixEntry> typical_of(const std::vector<NamedTask>& tasks) {
  using Key = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::string>;
  struct Kind {
    std::int64_t count = 0;
    core::TaskShape shape;
  };
  std::map<Key, Kind> kinds;
  for (const NamedTask& task : tasks) {
    const core::TaskShape& it = task.shape;
    Kind& kind = kinds[{it.cpu_milli, it.device_milli, it.devices, task.models}];
    kind.shape = it;
    kind.shape.memory_bytes = 0;
    ++kind.count;
  }
  std::vector<const Kind*> ordered;
  for (auto at = kinds.rbegin(); at != kinds.rend(); ++at) ordered.push_back(&at->second);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Kind* a, const Kind* b) { return a->count > b->count; });
  std::vector<core::MixEntry> typical;
  std::int64_t covered = 0;
  for (const Kind* kind : ordered) {
    if (100 * covered >= 95 * static_cast<std::int64_t>(tasks.size())) break;
    typical.push_back({kind->shape, kind->count});
    covered += kind->count;
  }
  return typical;
}

}  // namespace

std::int64_t OpenbTrace::gpus_milli() const {
  std::int64_t sum = 0;
  for (const core::NodeClass& node : nodes) sum += std::int64_t{node.devices} * kWholeDevice_milli;
  return sum;
}

Result<OpenbTrace> read_openb(const OpenbFiles& files) {
  Models models;
  TRY_ASSIGN(const std::vector<NamedNode> nodes, read_nodes(files.nodes, models));
  TRY_ASSIGN(const std::vector<NamedTask> tasks, read_tasks(files.tasks, models));
  TRY_ASSIGN(const Arrivals arrivals, read_arrivals(files.arrivals, nodes.size(), tasks.size()));
  OpenbTrace trace;
  std::vector<std::size_t> by_rank(nodes.size());
  std::iota(by_rank.begin(), by_rank.end(), 0);
  std::sort(by_rank.begin(), by_rank.end(),
            [&](std::size_t a, std::size_t b) { return arrivals.ranks[a] < arrivals.ranks[b]; });
  for (std::size_t at : by_rank) trace.nodes.push_back(nodes[at].node_class);
  const std::set<core::NodeClass> classes(trace.nodes.begin(), trace.nodes.end());
  trace.classes.assign(classes.begin(), classes.end());
  if (trace.gpus_milli() == 0) {
    return error_at(files.nodes, 2, 1, "no node has a GPU; the figure is a part of the GPUs");
  }
  std::map<core::TaskShape, std::int32_t> shapes;
  for (std::int64_t number : arrivals.order) {
    const core::TaskShape& shape = tasks[static_cast<std::size_t>(number)].shape;
    const auto [at, is_new] = shapes.try_emplace(shape, static_cast<std::int32_t>(shapes.size()));
    if (is_new) trace.shapes.push_back(shape);
    trace.arrivals.push_back(at->second);
  }
  trace.tasks = static_cast<std::int64_t>(tasks.size());
  trace.typical = typical_of(tasks);
  return trace;
}

}  // namespace dove::sim
