#include "slurm/gres.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace dove::slurm {
namespace {

constexpr int kIndexMax = 1'000'000;

// At separators outside parentheses.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : separator;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (at == text.size() || (c == separator && depth <= 0)) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
  }
  return parts;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kIndexMax) {
    return std::nullopt;
  }
  return value;
}

// "gpu:h200_0:1(IDX:0)".
struct Entry {
  std::string type;
  int count = 0;
  std::string_view inside;  // of its parentheses
};

Error malformed(std::string_view text) {
  return Error{ErrorKind::kInvalid, "gres", fmt::format("'{}' is not a GRES of Slurm", text), ""};
}

// None: it is of another name.
Result<std::optional<Entry>> read_entry(std::string_view text) {
  Entry entry;
  std::string_view head = text;
  if (const std::size_t open = text.find('('); open != std::string_view::npos) {
    if (text.back() != ')') return malformed(text);
    head = text.substr(0, open);
    entry.inside = text.substr(open + 1, text.size() - open - 2);
  }
  std::vector<std::string_view> words = split(head, ':');
  if (words[0] == "gres" || words[0].starts_with("gres/")) {
    words[0].remove_prefix(words[0] == "gres" ? 4 : 5);
    if (words[0].empty()) words.erase(words.begin());
  }
  if (words.empty() || words[0] != "gpu") return std::optional<Entry>();
  if (words.size() > 3) return malformed(text);
  const std::optional<int> count = number(words.back());
  if (words.size() == 1) {
    entry.count = 1;
  } else if (count) {
    entry.count = *count;
    if (words.size() == 3) entry.type = words[1];
  } else if (words.size() == 2) {
    entry.count = 1;
    entry.type = words[1];
  } else {
    return malformed(text);
  }
  return std::optional<Entry>(std::move(entry));
}

}  // namespace

std::optional<std::vector<int>> read_index_list(std::string_view list) {
  std::vector<int> indices;
  if (list.empty() || list == "N/A") return indices;
  for (const std::string_view part : split(list, ',')) {
    const std::size_t dash = part.find('-');
    const std::optional<int> first = number(part.substr(0, dash));
    const std::optional<int> last =
        dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kDevicesMax) return std::nullopt;
    for (int index = *first; index <= *last; ++index) indices.push_back(index);
    if (indices.size() > kDevicesMax) return std::nullopt;
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

Result<std::vector<std::string>> device_types(std::string_view gres) {
  std::vector<std::string> types;
  if (gres.empty() || gres == "(null)") return types;
  for (const std::string_view part : split(gres, ',')) {
    TRY_ASSIGN(const std::optional<Entry> entry, read_entry(part));
    if (!entry) continue;
    if (entry->count > kDevicesMax - static_cast<int>(types.size())) return malformed(gres);
    types.insert(types.end(), static_cast<std::size_t>(entry->count), entry->type);
  }
  return types;
}

bool binds_devices(std::string_view gres) { return gres.find("(S:") != std::string_view::npos; }

std::optional<std::vector<int>> device_indices(std::string_view detail) {
  std::vector<int> all;
  if (detail.empty()) return all;
  for (const std::string_view part : split(detail, ',')) {
    const auto entry = read_entry(part);
    if (!entry.ok()) return std::nullopt;
    if (!entry->has_value() || (*entry)->count == 0) continue;
    std::string_view inside = (*entry)->inside;
    if (!inside.starts_with("IDX:")) return std::nullopt;
    inside.remove_prefix(4);
    const auto some = read_index_list(inside);
    if (!some || some->empty()) return std::nullopt;
    all.insert(all.end(), some->begin(), some->end());
    if (all.size() > kDevicesMax) return std::nullopt;
  }
  std::sort(all.begin(), all.end());
  return all;
}

Result<std::string> pinned_gres(const std::vector<std::string>& types,
                                const std::vector<int>& devices) {
  std::map<std::string, int> wanted;
  for (const int index : devices) {
    if (index < 0 || index >= static_cast<int>(types.size())) {
      return Error{
          ErrorKind::kInvalid, "no_such_device",
          fmt::format("Slurm has {} devices on this node, and no device {}; its slurm.conf "
                      "and gres.conf have to list all of them",
                      types.size(), index),
          ""};
    }
    ++wanted[types[static_cast<std::size_t>(index)]];
  }
  std::string text;
  for (const auto& [type, count] : wanted) {
    if (std::count(types.begin(), types.end(), type) != count) {
      return Error{
          ErrorKind::kInvalid, "not_pinnable",
          fmt::format("several devices of this node are of GRES type '{}', so that a "
                      "placeholder cannot name one of them; give each a type of its own in "
                      "gres.conf (gpu:NAME_0:1,gpu:NAME_1:1,…)",
                      type),
          ""};
    }
    text +=
        fmt::format("{}gpu:{}{}{}", text.empty() ? "" : ",", type, type.empty() ? "" : ":", count);
  }
  return text;
}

}  // namespace dove::slurm
