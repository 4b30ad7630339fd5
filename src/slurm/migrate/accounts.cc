#include "slurm/migrate/accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "slurm/migrate/conf_file.h"
#include "text/words.h"

namespace dove::slurm {
namespace {

constexpr std::int64_t kWeightMax = 1'000'000;
constexpr std::int64_t kCountMax = 1'000'000'000;
constexpr int kBandMax = 16;

// A line of a dump: its kind, whom it is about, and its options.
struct Entry {
  std::string kind;  // "Account"
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
};

// At ':' outside quotes, which are taken off.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts(1);
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        parts.back() += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// False: it is no line of a dump.
bool read_entry(std::string_view line, Entry& entry) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return false;
  entry.kind = line.substr(0, dash);
  const std::vector<std::string> parts = parts_of(line.substr(dash + 3));
  entry.name = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    std::string name = parts[i].substr(0, equals);
    // "GrpTRES=gres/gpu:h200=2" has a colon of its own.
    const bool goes_on = !entry.options.empty() &&
                         entry.options.back().first.find("TRES") != std::string::npos &&
                         find_option(OptionPlace::kAssociation, name) == nullptr;
    if (goes_on) {
      entry.options.back().second += ":" + parts[i];
    } else {
      entry.options.emplace_back(name,
                                 equals == std::string::npos ? "" : parts[i].substr(equals + 1));
    }
  }
  return !entry.name.empty();
}

std::int64_t count_of(std::string_view text, std::int64_t most) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::min(value, most);
}

class Accounts {
 public:
  Accounts(Objects& objects, Reporter& report) : objects_(objects), report_(report) {}

  void read(const Entry& entry, const std::string& place) {
    const std::string about = fmt::format("{} - {}", entry.kind, entry.name);
    if (same_word(entry.kind, "Parent")) {
      parent_ = entry.name;
      return report_.option(OptionPlace::kAssociation, place, "", "Parent", entry.name);
    }
    report_.option(OptionPlace::kAssociation, place, "", entry.kind, entry.name);
    if (same_word(entry.kind, "Account")) make_account(entry.name);
    if (same_word(entry.kind, "User")) make_user(entry.name);
    for (const auto& [name, value] : entry.options) {
      report_.option(OptionPlace::kAssociation, place, about, name, value);
      if (same_word(entry.kind, "Account")) set_account(entry.name, name, value);
      if (same_word(entry.kind, "User")) set_user(entry.name, name, value);
    }
  }

  // Jobs wait in queues with none below them: an account with both gets one for its own.
  void finish() {
    for (const std::string& account : with_users_) {
      if (!with_children_.contains(account)) continue;
      objects_.of("Queue", account + ".own").text("parent", account);
    }
  }

 private:
  void make_account(const std::string& name) {
    objects_.of("Project", name);
    Object& queue = objects_.of("Queue", name);
    if (parent_.empty() || parent_ == "root") return;
    queue.text("parent", parent_);
    with_children_.insert(parent_);
  }

  void make_user(const std::string& name) {
    objects_.of("User", name);
    if (parent_.empty() || parent_ == "root") return;
    Object& members = objects_.of("Binding", parent_ + ".members");
    members.text("role", "member");
    members.text("project", parent_);
    members.add("users", name);
    with_users_.insert(parent_);
  }

  // Limits that projects and users have alike.
  bool set_limit(Object& holder, const std::string& name, const std::string& value) {
    const std::int64_t count = count_of(value, kCountMax);
    if (same_word(name, "GrpTRES")) {
      const std::vector<std::string> left = read_tres(value, holder.limits());
      if (!left.empty()) {
        report_.instead(Verdict::kApproximated,
                        fmt::format("without {}, which has no limit here", fmt::join(left, ",")));
      }
    } else if (same_word(name, "GrpJobs")) {
      if (count >= 0) holder.limits().jobs_running = count;
    } else if (same_word(name, "GrpSubmitJobs")) {
      if (count >= 0) holder.limits().jobs_waiting = count;
    } else {
      return false;
    }
    return true;
  }

  void set_account(const std::string& account, const std::string& name, const std::string& value) {
    if (set_limit(objects_.of("Project", account), name, value)) return;
    if (!same_word(name, "Fairshare")) return;
    const std::int64_t weight = count_of(value, kWeightMax);
    if (weight >= 1) return objects_.of("Queue", account).number("weight", weight);
    report_.instead(Verdict::kApproximated, "a weight of 1, the least that there is");
  }

  void set_user(const std::string& user, const std::string& name, const std::string& value) {
    if (same_word(name, "AdminLevel")) return set_admin(user, value);
    if (same_word(name, "Coordinator")) {
      for (const std::string& account : text::split(value, ",")) {
        Object& managers = objects_.of("Binding", account + ".managers");
        managers.text("role", "manager");
        managers.text("project", account);
        managers.add("users", user);
      }
    } else if (same_word(name, "MaxJobs") || same_word(name, "MaxSubmitJobs")) {
      const std::int64_t count = count_of(value, kCountMax);
      if (count < 0) return;
      Amounts& limits = objects_.of("Limit", user).limits();
      std::int64_t& limit = same_word(name, "MaxJobs") ? limits.jobs_running : limits.jobs_waiting;
      limit = std::max(limit, count);  // the largest of several accounts
    } else if (same_word(name, "Fairshare")) {
      report_.instead(Verdict::kNone, "users of a queue have equal weights");
    } else if (name.starts_with("Grp")) {
      set_limit(objects_.of("Limit", user), name, value);
    }
  }

  void set_admin(const std::string& user, const std::string& level) {
    const bool all = same_word(level, "Administrator");
    if (!all && !same_word(level, "Operator")) return;
    Object& binding = objects_.of("Binding", all ? "slurm.administrators" : "slurm.operators");
    binding.text("role", all ? "admin" : "manager");
    binding.add("users", user);
  }

  Objects& objects_;
  Reporter& report_;
  std::string parent_;
  std::set<std::string> with_users_;
  std::set<std::string> with_children_;
};

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string> columns_of(std::string_view line) {
  std::vector<std::string> columns(1);
  for (const char c : line) {
    if (c == '|') {
      columns.emplace_back();
    } else {
      columns.back() += c;
    }
  }
  return columns;
}

using Preempted = std::map<std::string, std::vector<std::string>>;

// One more than the highest that it may preempt.
std::int64_t band_of(const std::string& name, const Preempted& preempted, int depth = 0) {
  const auto at = preempted.find(name);
  if (at == preempted.end() || depth >= kBandMax) return 0;
  std::int64_t band = 0;
  for (const std::string& other : at->second) {
    band = std::max(band, 1 + band_of(other, preempted, depth + 1));
  }
  return std::min<std::int64_t>(band, kBandMax);
}

void set_qos(const std::string& name, const std::string& value, Object& queue, Reporter& report) {
  if (same_word(name, "Priority")) {
    const std::int64_t priority = count_of(value, kCountMax);
    if (priority > 0) queue.number("priority", priority);
  } else if (same_word(name, "GrpTRES")) {
    const std::vector<std::string> left = read_tres(value, queue.limits());
    if (!left.empty()) {
      report.instead(Verdict::kApproximated,
                     fmt::format("without {}, which has no limit here", fmt::join(left, ",")));
    }
  } else if (same_word(name, "GrpJobs")) {
    queue.limits().jobs_running = count_of(value, kCountMax);
  } else if (same_word(name, "GrpSubmit") || same_word(name, "GrpSubmitJobs")) {
    queue.limits().jobs_waiting = count_of(value, kCountMax);
  }
}

}  // namespace

void migrate_accounts(std::string_view dump, Objects& objects, Reporter& report) {
  Accounts accounts(objects, report);
  for (int number = 1; !dump.empty(); ++number) {
    const std::string_view line = next_line(dump);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string place = fmt::format("associations:{}", number);
    Entry entry;
    if (read_entry(line, entry)) {
      accounts.read(entry, place);
    } else {
      report.unknown(place, std::string(line));
    }
  }
  accounts.finish();
}

std::int64_t migrate_qos(std::string_view table, Objects& objects, Reporter& report) {
  std::int64_t highest = 0;
  if (table.empty()) return highest;
  const std::vector<std::string> names = columns_of(next_line(table));
  Preempted preempted;
  std::map<std::string, std::string> queues;  // by QoS
  for (int number = 2; !table.empty(); ++number) {
    const std::vector<std::string> values = columns_of(next_line(table));
    if (values.size() < 2 || values[0].empty()) continue;
    const std::string& qos = values[0];
    // An account of this name has a queue already.
    queues[qos] = objects.has("Queue", qos) ? qos + ".qos" : qos;
    Object& queue = objects.of("Queue", queues[qos]);
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
      if (values[i].empty()) continue;
      report.option(OptionPlace::kQos, fmt::format("qos:{}", number), i == 0 ? "" : "QOS " + qos,
                    names[i], values[i]);
      set_qos(names[i], values[i], queue, report);
      if (same_word(names[i], "Priority")) {
        highest = std::max(highest, count_of(values[i], kCountMax));
      }
      if (!same_word(names[i], "Preempt")) continue;
      std::string_view rest = values[i];
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        preempted[qos].emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
  }
  for (const auto& [qos, queue] : queues) {
    const std::int64_t band = band_of(qos, preempted);
    if (band > 0) objects.of("Queue", queue).number("band", band);
  }
  return highest;
}

}  // namespace dove::slurm
