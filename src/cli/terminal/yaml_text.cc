#include "cli/terminal/yaml_text.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "jobfiles/yaml.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kLevelsMax = 64;
constexpr int kValuesMax = 200'000;

bool is_plain_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ||
         c == '-' || c == '+' || c == '%' || c == '@';
}

bool looks_like_another_type(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* word : {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"}) {
    if (lower == word) return true;
  }
  const char first = text.front();
  return std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '-' || first == '+' ||
         first == '.' || first == '%' || first == '@';
}

std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && !looks_like_another_type(text) &&
                     std::all_of(text.begin(), text.end(), is_plain_character);
  if (plain) return text;
  // A JSON string is a YAML double-quoted scalar.
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string scalar(const json& value) {
  return value.is_string() ? quoted(value.get<std::string>()) : value.dump();
}

bool is_text_block(const json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  if (text.find('\n') == std::string::npos || text.back() != '\n' || text.front() == ' ' ||
      text.front() == '\n') {
    return false;
  }
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= 0x20 || c == '\n' || c == '\t'; }) &&
         !text.ends_with("\n\n");
}

void append(const json& value, int indent, std::string& out);

// Behind "key:" or "-".
void append_behind(const json& value, int indent, bool in_list, std::string& out) {
  if (is_text_block(value)) {
    out += " |\n";
    const auto& text = value.get_ref<const std::string&>();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (end > at) out.append(static_cast<std::size_t>(indent) + 2, ' ');
      out.append(text, at, end - at + 1);
      at = end + 1;
    }
    return;
  }
  if (value.is_structured() && !value.empty()) {
    if (in_list && value.is_object()) {
      std::string inner;
      append(value, indent + 2, inner);
      out += " " + inner.substr(static_cast<std::size_t>(indent) + 2);
      return;
    }
    out += '\n';
    append(value, indent + 2, out);
    return;
  }
  out += " " + (value.is_object() ? "{}" : value.is_array() ? "[]" : scalar(value)) + "\n";
}

void append(const json& value, int indent, std::string& out) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items()) {
      out += margin + quoted(key) + ":";
      append_behind(member, indent, false, out);
    }
  } else if (value.is_array() && !value.empty()) {
    for (const json& element : value) {
      out += margin + "-";
      append_behind(element, indent, true, out);
    }
  } else {
    out += margin + (value.is_object() ? "{}" : value.is_array() ? "[]" : scalar(value)) + "\n";
  }
}

json plain_scalar(const std::string& text) {
  if (text.empty() || text == "null" || text == "~") return nullptr;
  if (text == "true") return true;
  if (text == "false") return false;
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && at == end) return number;
  return text;
}

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Result<json> read(const YAML::Node& node, int level) {
    if (level > kLevelsMax || ++values_ > kValuesMax) {
      return wrong(node.Mark(), fmt::format("over {} levels or {} values", kLevelsMax, kValuesMax));
    }
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return json();
      case YAML::NodeType::Scalar:
        return node.Tag() == "!" ? json(node.Scalar()) : plain_scalar(node.Scalar());
      case YAML::NodeType::Sequence: {
        json list = json::array();
        for (const YAML::Node& element : node) {
          TRY_ASSIGN(json value, read(element, level + 1));
          list.push_back(std::move(value));
        }
        return list;
      }
      case YAML::NodeType::Map:
        return read_map(node, level);
    }
    return json();
  }

  Error wrong(const YAML::Mark& mark, const std::string& what) const {
    const std::string place = fmt::format("{}:{}:{}", name_, mark.line + 1, mark.column + 1);
    return Error{ErrorKind::kInvalid, "bad_yaml", fmt::format("{}: {}", place, what), place};
  }

 private:
  Result<json> read_map(const YAML::Node& node, int level) {
    json object = json::object();
    for (const auto& pair : node) {
      if (!pair.first.IsScalar()) return wrong(pair.first.Mark(), "a key must be a word");
      const std::string& key = pair.first.Scalar();
      if (object.contains(key)) {
        return wrong(pair.first.Mark(), fmt::format("'{}' is there twice: remove one", key));
      }
      TRY_ASSIGN(object[key], read(pair.second, level + 1));
    }
    return object;
  }

  const std::string& name_;
  int values_ = 0;
};

}  // namespace

std::string yaml_text(const json& value) {
  std::string out;
  append(value, 0, out);
  return out;
}

Result<std::vector<json>> read_yaml(const std::string& name, const std::string& text) {
  Reader reader(name);
  std::vector<json> documents;
  try {
    for (const YAML::Node& node : YAML::LoadAll(text)) {
      TRY_ASSIGN(json document, reader.read(node, 0));
      if (!document.is_null()) documents.push_back(std::move(document));
    }
  } catch (const YAML::Exception& error) {
    if (const std::optional<Error> open = jobfiles::unclosed_bracket(name, text)) return *open;
    return reader.wrong(error.mark, error.msg);
  }
  return documents;
}

}  // namespace dove::cli
