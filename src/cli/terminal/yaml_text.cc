#include "cli/terminal/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "yaml/reader.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr yaml::Limits kLimits{.bytes_max = 16 << 20, .values_max = 200'000};

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

Error wrong(const yaml::Value& at, std::string what) {
  return text::at_place(Error{ErrorKind::kInvalid, "bad_yaml", std::move(what), ""}, at.place);
}

Result<json> to_json(const yaml::Value& value) {
  switch (value.kind) {
    case yaml::Value::Kind::kNull:
      return json();
    case yaml::Value::Kind::kScalar:
      return value.quoted ? json(value.text) : plain_scalar(value.text);
    case yaml::Value::Kind::kList: {
      json list = json::array();
      for (const yaml::ValueRef& element : value.values) {
        TRY_ASSIGN(json read, to_json(*element));
        list.push_back(std::move(read));
      }
      return list;
    }
    case yaml::Value::Kind::kMap: {
      json object = json::object();
      for (std::size_t i = 0; i < value.keys.size(); ++i) {
        const yaml::Value& key = *value.keys[i];
        if (key.kind != yaml::Value::Kind::kScalar) return wrong(key, "a key must be a word");
        if (object.contains(key.text)) {
          return wrong(key, fmt::format("'{}' is there twice: remove one", key.text));
        }
        TRY_ASSIGN(object[key.text], to_json(*value.values[i]));
      }
      return object;
    }
  }
  return json();
}

}  // namespace

std::string yaml_text(const json& value) {
  std::string out;
  append(value, 0, out);
  return out;
}

Result<std::vector<json>> read_yaml(const std::string& name, const std::string& text) {
  TRY_ASSIGN(const std::vector<yaml::ValueRef> roots, yaml::read_documents(name, text, kLimits));
  std::vector<json> documents;
  for (const yaml::ValueRef& root : roots) {
    TRY_ASSIGN(json document, to_json(*root));
    if (!document.is_null()) documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace dove::cli
