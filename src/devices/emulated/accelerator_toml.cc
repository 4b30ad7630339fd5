#include "devices/emulated/accelerator_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

namespace dove::devices::emulated {
namespace {

struct Value;
using Table = std::map<std::string, Value>;

// One of its members is set.
struct Value {
  std::optional<std::string> text;
  std::optional<std::int64_t> number;
  std::optional<bool> truth;
  std::vector<Value> items;
  Table entries;
};

constexpr int kDepthMax = 16;

class TomlReader {
 public:
  TomlReader(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  // Keys of sections have the section's name and a dot before them.
  Result<Table> read() {
    Table root;
    std::string section;
    for (skip_blank(true); at_ < text_.size(); skip_blank(true)) {
      if (take('[')) {
        const std::size_t end = text_.find(']', at_);
        if (end == std::string::npos) return wrong("a section's name ends with ]");
        section = text_.substr(at_, end - at_) + ".";
        at_ = end + 1;
        continue;
      }
      TRY_ASSIGN(const std::string name, key());
      TRY_ASSIGN(Value read_value, value(0));
      if (!root.emplace(section + name, std::move(read_value)).second) {
        return wrong("'" + name + "' is there twice");
      }
    }
    return root;
  }

  Error wrong(const std::string& message) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    const std::string place = fmt::format("{}:{}", name_, line);
    return Error{ErrorKind::kInvalid, "inventory", place + ": " + message, place};
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_blank(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  // The name and the sign after it.
  Result<std::string> key() {
    skip_blank(false);
    std::string name;
    if (at_ < text_.size() && text_[at_] == '"') {
      TRY_ASSIGN(name, text());
    } else {
      const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
      };
      while (at_ < text_.size() && plain(text_[at_])) name += text_[at_++];
    }
    skip_blank(false);
    if (name.empty() || !take('=')) return wrong("expected NAME = VALUE here");
    return name;
  }

  Result<std::string> text() {
    if (!take('"')) return wrong("expected text in double quotes here");
    const std::size_t end = text_.find_first_of("\"\n", at_);
    if (end == std::string::npos || text_[end] == '\n') return wrong("the text does not end");
    std::string found = text_.substr(at_, end - at_);
    if (found.find('\\') != std::string::npos) return wrong("escapes are not understood here");
    at_ = end + 1;
    return found;
  }

  Result<Value> value(int depth) {
    skip_blank(false);
    if (depth > kDepthMax || at_ >= text_.size()) return wrong("expected a value here");
    if (text_[at_] == '"') {
      Value found;
      TRY_ASSIGN(found.text, text());
      return found;
    }
    if (take('[')) return array(depth);
    if (take('{')) return table(depth);
    for (const bool truth : {true, false}) {
      const std::string word = truth ? "true" : "false";
      if (text_.compare(at_, word.size(), word) != 0) continue;
      at_ += word.size();
      Value found;
      found.truth = truth;
      return found;
    }
    std::int64_t number = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc()) return wrong("expected text, a whole number, true or false here");
    at_ = static_cast<std::size_t>(end - text_.data());
    Value found;
    found.number = number;
    return found;
  }

  Result<Value> array(int depth) {
    Value found;
    for (skip_blank(true); !take(']'); skip_blank(true)) {
      TRY_ASSIGN(Value item, value(depth + 1));
      found.items.push_back(std::move(item));
      skip_blank(true);
      if (!take(',') && (at_ >= text_.size() || text_[at_] != ']')) {
        return wrong("expected , or ] here");
      }
    }
    return found;
  }

  Result<Value> table(int depth) {
    Value found;
    for (skip_blank(false); !take('}'); skip_blank(false)) {
      TRY_ASSIGN(const std::string name, key());
      TRY_ASSIGN(found.entries[name], value(depth + 1));
      skip_blank(false);
      if (!take(',') && (at_ >= text_.size() || text_[at_] != '}')) {
        return wrong("expected , or } here");
      }
    }
    return found;
  }

  const std::string& text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

std::string text_of(const Table& table, const std::string& name, const std::string& otherwise) {
  const auto found = table.find(name);
  return found == table.end() ? otherwise : found->second.text.value_or(otherwise);
}

bool is_true(const Table& table, const std::string& name) {
  const auto found = table.find(name);
  return found != table.end() && found->second.truth.value_or(false);
}

std::int64_t number_of(const Table& table, const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? 0 : found->second.number.value_or(0);
}

// "40G" is 40 GiB, as Backend.AI counts.
Result<std::int64_t> bytes_of(const std::string& text, const std::string& name) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const std::string units = "KMGT";
  const std::size_t at = unit.size() == 1 ? units.find(unit[0] & ~0x20) : std::string::npos;
  if (error != std::errc() || value < 0 || value > (1 << 20) ||
      (!unit.empty() && at == std::string::npos)) {
    return Error{ErrorKind::kInvalid, "inventory",
                 fmt::format("{}: memory_size '{}' is not an amount such as \"40G\"", name, text),
                 name};
  }
  return unit.empty() ? value : value << (10 * (at + 1));
}

std::string vendor_of(const std::string& slot) {
  if (slot == "cuda") return "nvidia";
  return slot == "rocm" ? "amd" : slot;
}

}  // namespace

Result<std::vector<Device>> parse_accelerator_toml(const std::string& text,
                                                   const std::string& name) {
  if (text.size() > (1u << 20)) {
    return Error{ErrorKind::kTooLarge, "inventory", name + ": over 1 MiB", name};
  }
  TRY_ASSIGN(const Table root, TomlReader(text, name).read());
  std::vector<Device> devices;
  const auto listed = root.find("devices");
  if (listed == root.end()) return devices;
  for (const Value& item : listed->second.items) {
    const Table& entry = item.entries;
    const std::string uuid = text_of(entry, "mother_uuid", "");
    if (uuid.empty()) {
      return Error{ErrorKind::kInvalid, "inventory",
                   name + ": each of devices is { mother_uuid = \"…\", … }", name};
    }
    TRY_ASSIGN(const std::int64_t memory, bytes_of(text_of(entry, "memory_size", "0"), name));
    const auto same = std::find_if(devices.begin(), devices.end(),
                                   [&](const Device& device) { return device.uuid == uuid; });
    const bool is_part = is_true(entry, "is_mig_device");
    if (same != devices.end() && !is_part) {
      return Error{ErrorKind::kInvalid, "inventory",
                   fmt::format("{}: two devices have the mother_uuid {}", name, uuid), name};
    }
    if (same != devices.end()) {
      same->memory_bytes += memory;
      continue;
    }
    Device device;
    device.vendor = vendor_of(text_of(root, "slot_name", "cuda"));
    device.model = text_of(entry, "model_name", "");
    device.uuid = uuid;
    device.memory_bytes = memory;
    device.numa_node =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(number_of(entry, "numa_node"), 0, 1023));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace dove::devices::emulated
