#include "slurm/migrate/migration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "model/resource_names.h"
#include "slurm/migrate/accounts.h"
#include "slurm/migrate/objects.h"
#include "slurm/migrate/priority_weights.h"
#include "slurm/migrate/reporter.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace dove::slurm {
namespace {

constexpr const char kComment[] =
    "# Made by `dove migrate slurm`; its report says what was carried over. Look through it, then\n"
    "# `dove diff -f FILE` and `dove apply -f FILE`.\n";

std::int64_t number_in(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value < least ? -1 : std::min(value, most);
}

std::vector<std::string> list(std::string_view text) { return text::split(text, ","); }

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return same_word(text.substr(0, word.size()), word);
  });
}

class Conf {
 public:
  Conf(const MigrationInput& input, Objects& objects, Reporter& report)
      : input_(input), objects_(objects), report_(report) {}

  void run() {
    for (const ConfLine& line : input_.conf) find_sets(line);
    for (const ConfLine& line : input_.conf) read(line);
    for (const ConfLine& line : input_.gres) {
      read_plain(line, OptionPlace::kGres, line.pairs[0].name + "=" + line.pairs[0].value);
    }
  }

  const PriorityWeights& weights() const { return weights_; }

 private:
  using Settings = std::map<std::string, std::string>;  // by lower-case name

  static std::string lower(std::string_view name) {
    std::string text(name);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }

  // Node sets, and which nodes have which feature, before they are needed.
  void find_sets(const ConfLine& line) {
    if (const std::string* name = line.find("NodeName");
        name != nullptr && same_word(line.pairs[0].name, "NodeName")) {
      const std::string* features = line.find("Features");
      if (features == nullptr) features = line.find("Feature");
      if (same_word(*name, "DEFAULT")) {
        default_features_ = features == nullptr ? "" : *features;
        return;
      }
      for (const std::string& feature : list(features == nullptr ? default_features_ : *features)) {
        features_[feature].push_back(*name);
      }
    } else if (same_word(line.pairs[0].name, "NodeSet")) {
      const std::string* nodes = line.find("Nodes");
      if (nodes != nullptr) sets_[line.pairs[0].value] = {*nodes};
      const std::string* feature = line.find("Feature");
      if (feature != nullptr) sets_[line.pairs[0].value] = features_[*feature];
    }
  }

  void read(const ConfLine& line) {
    const std::string& name = line.pairs[0].name;
    const std::string about = name + "=" + line.pairs[0].value;
    if (same_word(name, "NodeName")) return read_nodes(line, about);
    if (same_word(name, "PartitionName")) return read_partition(line, about);
    if (same_word(name, "DownNodes")) return read_down(line, about);
    if (same_word(name, "FrontendName")) return read_plain(line, OptionPlace::kFrontend, about);
    if (same_word(name, "NodeSet")) return read_plain(line, OptionPlace::kNodeSet, about);
    for (const ConfPair& pair : line.pairs) {
      if (!pair.has_value) {
        report_.unknown(line.place(), pair.name);
        continue;
      }
      report_.option(OptionPlace::kGlobal, line.place(), "", pair.name, pair.value);
      set_global(pair);
    }
  }

  // Reports each option; calls `set` for those that are more than reported.
  template <class Set>
  void each(const ConfLine& line, OptionPlace place, const std::string& about, Set set) {
    for (std::size_t i = 0; i < line.pairs.size(); ++i) {
      const ConfPair& pair = line.pairs[i];
      if (!pair.has_value) {
        report_.unknown(line.place(), pair.name);
        continue;
      }
      report_.option(place, line.place(), i == 0 ? "" : about, pair.name, pair.value);
      set(pair);
    }
  }

  void read_plain(const ConfLine& line, OptionPlace place, const std::string& about) {
    each(line, place, about, [](const ConfPair&) {});
  }

  void set_global(const ConfPair& pair) {
    Object& cluster = objects_.of("Cluster", "");
    const std::string name = lower(pair.name);
    weights_.read(name, pair.value, report_);
    if (name == "maxarraysize") {
      const std::int64_t most = number_in(pair.value, 2, 100'001);
      if (most > 0) cluster.number("array_max", most - 1);
    } else if (name == "maxjobcount") {
      const std::int64_t most = number_in(pair.value, 1, 100'000'000);
      if (most > 0) cluster.number("jobs_max", most);
    } else if (name == "prioritydecayhalflife") {
      const std::int64_t half_s = slurm_time_s(pair.value);
      if (half_s > 0) return cluster.text("fair_share_half_life", fmt::format("{}s", half_s));
      report_.instead(Verdict::kNone, "past use always counts less as time passes");
    } else if (name == "licenses") {
      set_licenses(pair.value, cluster);
    } else if (name == "prioritytype") {
      const bool basic = same_word(pair.value, "priority/basic");
      cluster.text("order", basic ? "priority_fifo" : "multifactor");
    } else if (name == "preempttype") {
      cluster.flag("preemption", !same_word(pair.value, "preempt/none"));
    } else if (name == "privatedata") {
      for (const std::string& word : list(pair.value)) {
        if (same_word(word, "jobs") || same_word(word, "all")) {
          cluster.text("job_visibility", "members");
        }
      }
    }
  }

  // "matlab:10,fluent@server:30,single".
  void set_licenses(std::string_view text, Object& cluster) {
    for (const std::string& one : list(text)) {
      std::size_t at = one.rfind(':');
      if (at == std::string::npos) at = one.rfind('*');
      const std::int64_t count =
          at == std::string::npos ? 1 : number_in(one.substr(at + 1), 0, 1'000'000'000);
      if (count < 0) {
        report_.instead(Verdict::kApproximated, fmt::format("'{}' has no count", one));
        continue;
      }
      cluster.amount("countables", licence_name(one.substr(0, one.find_first_of(":@*"))), count);
    }
  }

  // Lines of the name DEFAULT are for those that follow.
  template <class Set>
  void with_defaults(const ConfLine& line, std::vector<ConfPair>& defaults, Set set) {
    if (same_word(line.pairs[0].value, "DEFAULT")) {
      defaults.insert(defaults.end(), line.pairs.begin() + 1, line.pairs.end());
      return;
    }
    for (const ConfPair& pair : defaults) {
      if (line.find(pair.name) == nullptr) set(pair);
    }
  }

  void read_nodes(const ConfLine& line, const std::string& about) {
    const std::vector<std::string> names = text::expand_hostlist(line.pairs[0].value);
    const auto set = [&](const ConfPair& pair) {
      if (same_word(line.pairs[0].value, "DEFAULT")) return;
      const auto count = static_cast<std::int64_t>(names.size());
      weights_.add_node(gpus_of(pair) * count, cpus_of(pair) * count);
      for (const std::string& name : names) set_node(pair, line, objects_.of("Node", name));
    };
    with_defaults(line, node_defaults_, set);
    each(line, OptionPlace::kNode, about, set);
  }

  static std::int64_t cpus_of(const ConfPair& pair) {
    if (!same_word(pair.name, "CPUs")) return 0;
    return std::max<std::int64_t>(number_in(pair.value, 0, 65'536), 0);
  }

  // "gpu:h200:4", "gpu:4", "gpu".
  static std::int64_t gpus_of(const ConfPair& pair) {
    if (!same_word(pair.name, "Gres")) return 0;
    std::int64_t gpus = 0;
    for (const std::string& one : list(pair.value)) {
      if (one.substr(0, one.find_first_of(":(")) != "gpu") continue;
      const std::string counted = one.substr(0, one.find('('));
      const std::int64_t count = number_in(counted.substr(counted.rfind(':') + 1), 0, 1024);
      gpus += count < 0 ? 1 : count;
    }
    return gpus;
  }

  void set_node(const ConfPair& pair, const ConfLine& line, Object& node) {
    const std::string name = lower(pair.name);
    if (name == "features" || name == "feature") {
      node.add("features", list(pair.value));
    } else if (name == "corespeccount") {
      const std::int64_t cores = number_in(pair.value, 1, 65'536);
      if (cores > 0) node.number("cores_reserved", cores);
    } else if (name == "memspeclimit") {
      const std::int64_t megabytes = number_in(pair.value, 1, 1 << 30);
      if (megabytes > 0) node.number("memory_reserved_bytes", megabytes << 20);
    } else if (name == "state" && begins_with_any(pair.value, {"DOWN", "DRAIN", "FAIL"})) {
      node.flag("drained", true);
      const std::string* reason = line.find("Reason");
      if (reason != nullptr) node.text("drain_reason", *reason);
    } else if (name == "gres") {
      set_gres(pair.value, node);
    }
  }

  void set_gres(std::string_view text, Object& node) {
    for (const std::string& one : list(text)) {
      const std::string kind = one.substr(0, one.find(':'));
      if (kind == "gpu" || kind == "mps" || kind == "shard") continue;
      const std::size_t at = one.rfind(':');
      const std::int64_t count =
          at == std::string::npos ? 1 : number_in(one.substr(at + 1), 0, 1'000'000'000);
      if (count > 0) node.amount("countables", kind, count);
    }
  }

  void read_down(const ConfLine& line, const std::string& about) {
    const std::string* reason = line.find("Reason");
    const std::string* state = line.find("State");
    const bool resumes = state != nullptr && begins_with_any(*state, {"UP", "IDLE", "RESUME"});
    each(line, OptionPlace::kDownNodes, about, [](const ConfPair&) {});
    if (resumes) return;
    for (const std::string& name : text::expand_hostlist(line.pairs[0].value)) {
      Object& node = objects_.of("Node", name);
      node.flag("drained", true);
      if (reason != nullptr) node.text("drain_reason", *reason);
    }
  }

  void read_partition(const ConfLine& line, const std::string& about) {
    const bool is_default = same_word(line.pairs[0].value, "DEFAULT");
    const auto set = [&](const ConfPair& pair) {
      if (!is_default) set_pool(pair, objects_.of("Pool", line.pairs[0].value));
    };
    if (!is_default) objects_.of("Pool", line.pairs[0].value);
    with_defaults(line, partition_defaults_, set);
    each(line, OptionPlace::kPartition, about, set);
  }

  void set_pool(const ConfPair& pair, Object& pool) {
    const std::string name = lower(pair.name);
    if (name == "nodes") return set_pool_nodes(pair.value, pool);
    if (name == "default") return pool.flag("default", same_word(pair.value, "YES"));
    if (name == "maxtime") return set_time("time_limit_max", pair.value, pool);
    if (name == "defaulttime") return set_time("time_limit_default", pair.value, pool);
    if (name == "allowgroups") return set_groups(pair.value, pool);
    if (name == "allowaccounts" && !same_word(pair.value, "ALL")) {
      pool.add("projects", list(pair.value));
    } else if (name == "rootonly" && same_word(pair.value, "YES")) {
      pool.add("users", "root");
    } else if (name == "state" && !same_word(pair.value, "UP")) {
      pool.flag("open", false);
    } else if ((name == "oversubscribe" || name == "shared") &&
               same_word(pair.value, "EXCLUSIVE")) {
      pool.flag("exclusive", true);
    }
  }

  void set_pool_nodes(const std::string& value, Object& pool) {
    if (same_word(value, "ALL")) return pool.add("nodes", "*");
    const auto words = text::split_hostlist(value);
    if (!words) return report_.instead(Verdict::kNone, "the brackets do not match");
    for (const std::string_view word : *words) {
      const auto set = sets_.find(std::string(word));
      if (set == sets_.end()) {
        pool.add("nodes", std::string(word));
      } else {
        pool.add("nodes", set->second);
      }
    }
  }

  void set_time(const char* field, const std::string& value, Object& pool) {
    const std::int64_t limit_s = slurm_time_s(value);
    if (limit_s > 0) pool.text(field, fmt::format("{}s", limit_s));
    if (limit_s < 0 && !same_word(value, "NONE")) {
      report_.instead(Verdict::kNone, "it is not a time that Slurm knows");
    }
  }

  // A pool without users is everybody's: a group that is not there closes it.
  void set_groups(const std::string& value, Object& pool) {
    if (same_word(value, "ALL")) return;
    std::vector<std::string> users;
    for (const std::string& group : list(value)) {
      const auto members =
          input_.members ? input_.members(group) : std::optional<std::vector<std::string>>();
      if (members) users.insert(users.end(), members->begin(), members->end());
    }
    if (!users.empty()) return pool.add("users", users);
    pool.flag("open", false);
    report_.instead(Verdict::kApproximated,
                    "no members of these groups are known here: the pool is closed until you list "
                    "its users and open it");
  }

  PriorityWeights weights_;
  const MigrationInput& input_;
  Objects& objects_;
  Reporter& report_;
  std::map<std::string, std::vector<std::string>> features_;  // hostlists by feature
  std::map<std::string, std::vector<std::string>> sets_;      // hostlists by node set
  std::string default_features_;
  std::vector<ConfPair> node_defaults_;
  std::vector<ConfPair> partition_defaults_;
};

}  // namespace

Migration migrate(const MigrationInput& input) {
  Objects objects;
  Reporter report;
  Conf conf(input, objects, report);
  conf.run();
  migrate_accounts(input.associations, objects, report);
  const std::int64_t highest = migrate_qos(input.qos, objects, report);
  conf.weights().write(highest, objects.of("Cluster", ""));
  return {objects.yaml(kComment), report.take()};
}

std::string report_text(const std::vector<ReportLine>& report) {
  std::string text;
  std::map<Verdict, int> counts;
  int unknown = 0;
  for (const ReportLine& line : report) {
    ++counts[line.verdict];
    unknown += line.known ? 0 : 1;
    text += fmt::format("{}: {}: {}: {}\n", line.place, line.option,
                        line.known ? word(line.verdict) : "unknown", line.note);
  }
  return text + fmt::format(
                    "{} carried over, {} approximated, {} without counterpart ({} of them "
                    "unknown)\n",
                    counts[Verdict::kCarried], counts[Verdict::kApproximated],
                    counts[Verdict::kNone], unknown);
}

}  // namespace dove::slurm
