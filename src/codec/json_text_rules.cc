// What texts in JSON may be, and how near two names are.
#include <fmt/format.h>

#include <algorithm>

#include "codec/json_fields.h"
#include "model/huge_pages.h"
#include "text/utf8.h"
#include "text/variable_name.h"

namespace dove::codec {
namespace {

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

// True when the components of `path` climb above where they began.
bool leaves_base(std::string_view path) {
  int depth = 0;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part == "..") {
      if (--depth < 0) return true;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
  }
  return false;
}

bool is_countable_name(std::string_view text) {
  if (text.empty() || text[0] < 'a' || text[0] > 'z') return false;
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.:/-") ==
         std::string_view::npos;
}

bool is_sha256(std::string_view text) {
  return text.empty() || (text.size() == 64 &&
                          text.find_first_not_of("0123456789abcdef") == std::string_view::npos);
}

Error refused(std::string code, std::string message) {
  return Error{ErrorKind::kInvalid, std::move(code), std::move(message), ""};
}

std::string_view broken_name_rule(std::string_view text) {
  if (text.empty()) return "must not be empty";
  if (text.front() == ' ' || text.back() == ' ') return "begins or ends with a space";
  return has_control(text) ? "holds a control character" : "";
}

std::string_view broken_features_rule(std::string_view text) {
  // "[a|b]": the same one on all nodes.
  const bool in_brackets = text.starts_with('[') && text.ends_with(']');
  if (in_brackets && text.find('|') != std::string_view::npos) {
    text = text.substr(1, text.size() - 2);
  }
  while (true) {
    const std::size_t end = text.find('|');
    const std::string_view broken = broken_name_rule(text.substr(0, end));
    if (!broken.empty())
      return broken == "must not be empty" ? "has a | with nothing beside it" : broken;
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
}

// Words of the rule that `text` breaks; empty when it keeps it.
std::string_view broken_rule(std::string_view text, TextRule::Kind kind) {
  switch (kind) {
    case TextRule::Kind::kAny:
      return "";
    case TextRule::Kind::kLine:
      return has_control(text) ? "holds a control character" : "";
    case TextRule::Kind::kName:
      return broken_name_rule(text);
    case TextRule::Kind::kPath:
      if (has_control(text)) return "holds a control character";
      return leaves_base(text) ? "leaves its directory by \"..\"" : "";
    case TextRule::Kind::kEnvironmentName:
      return text::is_variable_name(text) ? "" : text::kVariableNameRule;
    case TextRule::Kind::kCountableName:
      if (text.starts_with(kHugePages)) {
        return huge_page_bytes(text) > 0
                   ? ""
                   : "names no size of pages: write hugepages-2Mi, hugepages-1Gi";
      }
      return is_countable_name(text) ? "" : "is not a name of a-z, 0-9 and _.:/- (a letter first)";
    case TextRule::Kind::kSha256:
      return is_sha256(text) ? "" : "is not a SHA-256 of 64 hex digits";
    case TextRule::Kind::kFeature:
      if (text.find('|') != std::string_view::npos) return "holds a |, which joins alternatives";
      return broken_name_rule(text);
    case TextRule::Kind::kFeatures:
      return broken_features_rule(text);
  }
  return "";
}

}  // namespace

std::optional<Error> check_text(std::string_view text, const TextRule& rule) {
  if (text.size() > rule.bytes_max) {
    return refused("too_long", fmt::format("its {} bytes are over the limit of {}", text.size(),
                                           rule.bytes_max));
  }
  if (!text::is_utf8(text)) return refused("invalid_utf8", "it is not UTF-8: convert it");
  if (text.find('\0') != std::string_view::npos) {
    return refused("bad_value", "it holds a NUL character");
  }
  const std::string_view broken = broken_rule(text, rule.kind);
  if (!broken.empty()) return refused("bad_value", fmt::format("it {}", broken));
  return std::nullopt;
}

std::string_view type_word(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
      return "null";
    case nlohmann::json::value_t::object:
      return "an object";
    case nlohmann::json::value_t::array:
      return "a list";
    case nlohmann::json::value_t::string:
      return "text";
    case nlohmann::json::value_t::boolean:
      return "true or false";
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
      return "a whole number";
    case nlohmann::json::value_t::number_float:
      return "a number with a fraction or too large";
    case nlohmann::json::value_t::binary:
    case nlohmann::json::value_t::discarded:
      return "something unknown";
  }
  return "";
}

}  // namespace dove::codec
