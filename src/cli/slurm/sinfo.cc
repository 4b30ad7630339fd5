// sinfo under its own name.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/format.h"
#include "cli/slurm/node_json.h"
#include "cli/terminal/output.h"
#include "cli/terminal/times.h"
#include "telemetry/clock.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

constexpr const char* kDefaultFormat = "%9P %.5a %.10l %.6D %.6t %N";
constexpr const char* kLongFormat = "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
// "%N" and "%P" of these are as wide as the longest name.
constexpr const char* kNodeFormat = "%N %.6D %.P %6t";
constexpr const char* kNodeLongFormat = "%N %.6D %.P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E";
constexpr std::size_t kNameWidth = 9;

// Nodes that are told in one line.
struct Line {
  const PartitionView* partition = nullptr;
  std::vector<NodeView> nodes;
};

const std::map<char, std::string>& titles() {
  static const std::map<char, std::string> kTitles = {{'P', "PARTITION"},
                                                      {'R', "PARTITION"},
                                                      {'a', "AVAIL"},
                                                      {'l', "TIMELIMIT"},
                                                      {'D', "NODES"},
                                                      {'t', "STATE"},
                                                      {'T', "STATE"},
                                                      {'N', "NODELIST"},
                                                      {'n', "HOSTNAMES"},
                                                      {'o', "NODE_ADDR"},
                                                      {'c', "CPUS"},
                                                      {'m', "MEMORY"},
                                                      {'e', "FREE_MEM"},
                                                      {'G', "GRES"},
                                                      {'E', "REASON"},
                                                      {'f', "AVAIL_FEATURES"},
                                                      {'b', "ACTIVE_FEATURES"},
                                                      {'F', "NODES(A/I/O/T)"},
                                                      {'A', "NODES(A/I)"},
                                                      {'C', "CPUS(A/I/O/T)"},
                                                      {'s', "JOB_SIZE"},
                                                      {'r', "ROOT"},
                                                      {'h', "OVERSUBSCRIBE"},
                                                      {'g', "GROUPS"},
                                                      {'z', "S:C:T"},
                                                      {'d', "TMP_DISK"},
                                                      {'w', "WEIGHT"},
                                                      {'O', "CPU_LOAD"},
                                                      {'L', "DEFAULTTIME"},
                                                      {'H', "TIMESTAMP"},
                                                      {'u', "USER"},
                                                      {'p', "PRIO_TIER"},
                                                      {'X', "SOCKETS"},
                                                      {'Y', "CORES"},
                                                      {'Z', "THREADS"},
                                                      {'M', "PREEMPT_MODE"},
                                                      {'S', "ALLOCNODES"},
                                                      {'B', "MAX_CPUS_PER_NODE"}};
  return kTitles;
}

std::string title_of(char field) {
  const auto found = titles().find(field);
  return found == titles().end() ? "" : found->second;
}

std::string all_letters() {
  std::string letters;
  for (const auto& [letter, title] : titles()) letters += letter;
  return letters;
}

std::vector<std::string> names_of(const Line& line) {
  std::vector<std::string> names;
  for (const NodeView& node : line.nodes) names.push_back(node.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string nodes_by_use(const Line& line, bool with_total) {
  int allocated = 0;
  int idle = 0;
  int other = 0;
  for (const NodeView& node : line.nodes) {
    if (node.state != "ready") {
      ++other;
    } else if (node.busy()) {
      ++allocated;
    } else {
      ++idle;
    }
  }
  if (!with_total) return fmt::format("{}/{}", allocated, idle);
  return fmt::format("{}/{}/{}/{}", allocated, idle, other, line.nodes.size());
}

std::string cores_by_use(const Line& line) {
  std::int64_t allocated = 0;
  std::int64_t idle = 0;
  std::int64_t other = 0;
  for (const NodeView& node : line.nodes) {
    allocated += node.cores - node.cores_free;
    (node.state == "ready" ? idle : other) += node.cores_free;
  }
  return fmt::format("{}/{}/{}/{}", allocated, idle, other, allocated + idle + other);
}

// The least of the nodes, with '+' when they differ.
std::string least(const Line& line, std::int64_t (*amount)(const NodeView&)) {
  if (line.nodes.empty()) return "0";
  std::int64_t low = amount(line.nodes[0]);
  std::int64_t high = low;
  for (const NodeView& node : line.nodes) {
    low = std::min(low, amount(node));
    high = std::max(high, amount(node));
  }
  return std::to_string(low) + (high > low ? "+" : "");
}

std::string node_field(const Line& line, char field) {
  if (line.nodes.empty()) return field == 't' || field == 'T' ? "n/a" : "";
  const NodeView& node = line.nodes[0];
  switch (field) {
    case 't':
      return slurm_node_state(node, false);
    case 'T':
      return slurm_node_state(node, true);
    case 'o':
      return node.address;
    case 'G':
      return node.gpus == 0 ? "(null)" : fmt::format("gpu:{}", node.gpus);
    case 'E':
      return node.drain_reason.empty() ? "none" : node.drain_reason;
    case 'f':
    case 'b':
      return node.features.empty() ? "(null)" : fmt::format("{}", fmt::join(node.features, ","));
    case 'z':
      return fmt::format("1:{}:1", node.cores);
    default:
      return "";
  }
}

std::string field_of(const Line& line, char field) {
  switch (field) {
    case 'P':
      return line.partition->name + (line.partition->is_default ? "*" : "");
    case 'R':
      return line.partition->name;
    case 'a':
      return line.partition->open ? "up" : "inact";
    case 'l':
      return line.partition->time_limit_max_us == 0 ? "infinite"
                                                    : clock_text(line.partition->time_limit_max_us);
    case 'D':
      return std::to_string(line.nodes.size());
    case 'N':
    case 'n':
      return text::fold_sorted_hostlist(names_of(line));
    case 'c':
    case 'Y':
      return least(line, [](const NodeView& node) { return node.cores; });
    case 'm':
      return least(line, [](const NodeView& node) { return node.memory_bytes >> 20; });
    case 'e':
      return least(line, [](const NodeView& node) { return node.memory_free_bytes >> 20; });
    case 'F':
      return nodes_by_use(line, true);
    case 'A':
      return nodes_by_use(line, false);
    case 'C':
      return cores_by_use(line);
    case 's':
      return "1-infinite";
    case 'r':
      return "no";
    case 'h':
      return "NO";
    case 'g':
      return "all";
    case 'S':
      return "all";
    case 'L':
    case 'O':
      return "n/a";
    case 'H':
    case 'u':
      return "Unknown";
    case 'B':
      return "UNLIMITED";
    case 'M':
      return "OFF";  // of the partition, which gives its jobs no mode
    case 'd':
      return "0";
    case 'p':
    case 'w':
    case 'X':
    case 'Z':
      return "1";
    default:
      return node_field(line, field);
  }
}

// One line for each partition and what the format tells apart; with `by_node` one for each node.
std::vector<Line> lines_of(const std::vector<PartitionView>& partitions,
                           const std::vector<FormatPiece>& pieces, bool by_node,
                           const Invocation& invocation) {
  const std::vector<std::string> pools = comma_list(invocation.get("partition"));
  const std::vector<std::string> nodes = text::expand_hostlist(invocation.get("nodes"));
  const std::vector<std::string> states = comma_list(invocation.get("states"));
  const auto kept = [](const std::vector<std::string>& list, const std::string& word) {
    return list.empty() || std::find(list.begin(), list.end(), word) != list.end();
  };
  const bool apart = has_field(pieces, "tT");
  const bool only_reasons = invocation.has("list-reasons");
  std::vector<Line> lines;
  for (const PartitionView& partition : partitions) {
    if (!kept(pools, partition.name)) continue;
    std::map<std::string, Line> groups;
    for (const NodeView& node : partition.nodes) {
      const std::string state = slurm_node_state(node, false);
      if (!kept(nodes, node.name)) continue;
      if (only_reasons && node.drain_reason.empty()) continue;
      if (!kept(states, state) && !kept(states, slurm_node_state(node, true))) continue;
      std::string key = by_node || has_field(pieces, "n") ? node.name : apart ? state : "";
      if (has_field(pieces, "E")) key += "\n" + node.drain_reason;
      if (has_field(pieces, "G")) key += "\n" + std::to_string(node.gpus);
      Line& line = groups[key];
      line.partition = &partition;
      line.nodes.push_back(node);
    }
    for (auto& [key, line] : groups) lines.push_back(std::move(line));
    if (groups.empty() && nodes.empty() && states.empty() && !only_reasons)
      lines.push_back({&partition, {}});
  }
  if (by_node) {
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return names_of(a) < names_of(b); });
  }
  return lines;
}

// Nodes and partitions in the node formats are as wide as the longest name.
void widen_names(const std::vector<Line>& lines, std::vector<FormatPiece>& pieces) {
  for (FormatPiece& piece : pieces) {
    if ((piece.field != 'N' && piece.field != 'P') || piece.width != 0) continue;
    std::size_t width = kNameWidth;
    for (const Line& line : lines) width = std::max(width, field_of(line, piece.field).size());
    piece.width = static_cast<int>(width);
  }
}

// Each node once, with the partitions that it is in.
Result<int> print_json(Api& api, const Invocation& invocation) {
  TRY_ASSIGN(const std::vector<PartitionView> partitions, read_partitions(api));
  std::map<std::string, NodeInPartitions> nodes;
  for (const Line& line : lines_of(partitions, {}, /*by_node=*/true, invocation)) {
    for (const NodeView& node : line.nodes) {
      NodeInPartitions& one = nodes[node.name];
      one.node = node;
      one.partitions.push_back(line.partition->name);
    }
  }
  print(nodes_json(nodes).dump(2) + "\n");
  return 0;
}

Result<int> run_sinfo(const Invocation& invocation) {
  if (invocation.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  const bool by_node = invocation.has("Node");
  const bool is_long = invocation.has("long");
  std::string format = by_node ? (is_long ? kNodeLongFormat : kNodeFormat)
                               : (is_long ? kLongFormat : kDefaultFormat);
  if (invocation.has("summarize")) format = "%9P %.5a %.10l %.16F %N";
  if (invocation.has("list-reasons")) format = "%20E %9u %19H %N";
  if (!environment_value("SINFO_FORMAT").empty() && !is_long && !by_node) {
    format = environment_value("SINFO_FORMAT");
  }
  TRY_ASSIGN(
      std::vector<FormatPiece> pieces,
      parse_percent_format(with_all_fields(invocation.get("format", format), all_letters())));
  for (const FormatPiece& piece : pieces) {
    if (piece.field != 0 && title_of(piece.field).empty()) {
      return usage_error(fmt::format("Invalid node format specification: %{}", piece.field));
    }
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  if (invocation.has("json")) return print_json(api, invocation);
  Invocation paced = invocation;
  if (invocation.has("iterate")) paced.values["watch"] = invocation.all("iterate");
  return repeat(paced, [&]() -> Result<int> {
    TRY_ASSIGN(const std::vector<PartitionView> partitions, read_partitions(api));
    const std::vector<Line> lines = lines_of(partitions, pieces, by_node, invocation);
    if (by_node && !invocation.has("format")) widen_names(lines, pieces);
    std::string out;
    if (is_long) out += calendar_text(telemetry::now_us()) + "\n";
    if (!invocation.has("noheader")) out += format_line(pieces, title_of) + "\n";
    for (const Line& line : lines) {
      out += format_line(pieces, [&](char field) { return field_of(line, field); }) + "\n";
    }
    print(out);
    return 0;
  });
}

}  // namespace

std::vector<Command> sinfo_commands() {
  CommandSpec spec;
  spec.name = "sinfo";
  spec.summary = "List pools and their nodes (as Slurm's)";
  spec.group = kFaceGroup;
  spec.options = {{"Node", 'N', "", "one line for each node"},
                  {"long", 'l', "", "more columns"},
                  {"format", 'o', "FORMAT", "columns, such as \"%P %.6D %t %N\""},
                  {"partition", 'p', "POOLS", "these pools"},
                  {"nodes", 'n', "NODES", "these nodes"},
                  {"states", 't', "STATES", "nodes in these states"},
                  {"noheader", 'h', "", "no titles"},
                  {"summarize", 's', "", "one line for each pool"},
                  {"list-reasons", 'R', "", "why nodes are drained"},
                  {"json", 0, "", "nodes as JSON"},
                  {"exact", 'e', "", "accepted"},
                  {"all", 'a', "", "accepted: all pools are shown"},
                  {"iterate", 'i', "SECONDS", "refresh at this interval"},
                  {"verbose", 'v', "", "accepted"},
                  {"version", 'V', "", "print the version"}};
  return {{spec, guarded_face("sinfo", run_sinfo)}};
}

}  // namespace dove::cli
