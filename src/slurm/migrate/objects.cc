#include "slurm/migrate/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/check.h"
#include "model/resource_names.h"
#include "slurm/migrate/conf_file.h"
#include "telemetry/json_text.h"

namespace dove::slurm {
namespace {

constexpr std::array<const char*, 8> kKinds = {"Cluster", "Queue", "Project", "User",
                                               "Binding", "Limit", "Pool",    "Node"};
constexpr std::int64_t kAmountMax = 1'000'000'000;

bool is_plain(std::string_view text) {
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  for (const std::string_view other :
       {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}) {
    if (same_word(text, other)) return false;
  }
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  });
}

// A JSON string is a YAML double-quoted scalar.
std::string yaml_text(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  telemetry::append_json_string(out, text);
  return out;
}

std::string map_text(const std::map<std::string, std::int64_t>& map) {
  std::string text;
  for (const auto& [name, value] : map) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", yaml_text(name), value);
  }
  return "{" + text + "}";
}

std::string limits_text(const Amounts& limits) {
  std::vector<std::string> parts;
  const auto put = [&](const char* name, std::int64_t value) {
    if (value >= 0) parts.push_back(fmt::format("{}: {}", name, value));
  };
  put("jobs_running", limits.jobs_running);
  put("jobs_waiting", limits.jobs_waiting);
  put("cores", limits.cores);
  put("gpus", limits.gpus);
  put("memory_bytes", limits.memory_bytes);
  if (!limits.gpus_by_model.empty()) {
    parts.push_back("gpus_by_model: " + map_text(limits.gpus_by_model));
  }
  if (!limits.countables.empty()) parts.push_back("countables: " + map_text(limits.countables));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

// "64", "64G": the number, times 1024 for each letter from K; -1: malformed or a limit that was
// taken back ("-1").
std::int64_t scaled(std::string_view text, std::int64_t plain) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || value < 0 || value > kAmountMax || unit.size() > 1) return -1;
  if (unit.empty()) return value * plain;
  const std::size_t power = std::string_view("KMGT").find(unit[0]);
  if (power == std::string_view::npos) return -1;
  return value << (10 * (power + 1));
}

}  // namespace

bool Amounts::empty() const {
  return jobs_running < 0 && jobs_waiting < 0 && cores < 0 && gpus < 0 && memory_bytes < 0 &&
         gpus_by_model.empty() && countables.empty();
}

std::vector<std::string> read_tres(std::string_view text, Amounts& amounts) {
  std::vector<std::string> left;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = one.find('=');
    const std::string_view name = one.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1);
    const std::int64_t count = scaled(value, name == "mem" ? std::int64_t{1} << 20 : 1);
    if (count < 0) {
      left.emplace_back(one);
    } else if (name == "cpu") {
      amounts.cores = count;
    } else if (name == "mem") {
      amounts.memory_bytes = count;
    } else if (name == "gres/gpu") {
      amounts.gpus = count;
    } else if (name.starts_with("gres/gpu:")) {
      amounts.gpus_by_model[std::string(name.substr(9))] = count;
    } else if (name.starts_with("license/")) {
      amounts.countables[licence_name(name.substr(8))] = count;
    } else {
      left.emplace_back(one);
    }
  }
  return left;
}

void Object::text(const std::string& field, std::string_view value) {
  scalars_[field] = yaml_text(value);
}
void Object::number(const std::string& field, std::int64_t value) {
  scalars_[field] = std::to_string(value);
}
void Object::flag(const std::string& field, bool value) {
  scalars_[field] = value ? "true" : "false";
}
void Object::add(const std::string& field, const std::string& entry) {
  std::vector<std::string>& list = lists_[field];
  if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
}
void Object::add(const std::string& field, const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) add(field, entry);
}
void Object::amount(const std::string& field, const std::string& name, std::int64_t value) {
  maps_[field][countable_name(name)] = value;
}
bool Object::empty() const {
  return scalars_.empty() && lists_.empty() && maps_.empty() && limits_.empty();
}

Object& Objects::of(const std::string& kind, const std::string& name) {
  CHECK(std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end(), "a kind of kKinds");
  return objects_[{kind, name}];
}

bool Objects::has(const std::string& kind, const std::string& name) const {
  return objects_.contains({kind, name});
}

std::string Objects::yaml(std::string_view comment) const {
  std::string text(comment);
  bool first = true;
  for (const std::string kind : kKinds) {
    for (const auto& [key, object] : objects_) {
      if (key.first != kind || (kind == "Node" && object.empty())) continue;
      if (!first) text += "---\n";
      first = false;
      text += fmt::format("kind: {}\n", kind);
      if (!key.second.empty()) text += fmt::format("name: {}\n", yaml_text(key.second));
      for (const auto& [field, value] : object.scalars_) {
        text += fmt::format("{}: {}\n", field, value);
      }
      for (const auto& [field, list] : object.lists_) {
        std::vector<std::string> entries;
        for (const std::string& entry : list) entries.push_back(yaml_text(entry));
        text += fmt::format("{}: [{}]\n", field, fmt::join(entries, ", "));
      }
      for (const auto& [field, map] : object.maps_) {
        text += fmt::format("{}: {}\n", field, map_text(map));
      }
      if (!object.limits_.empty()) text += fmt::format("limits: {}\n", limits_text(object.limits_));
    }
  }
  return text;
}

}  // namespace dove::slurm
