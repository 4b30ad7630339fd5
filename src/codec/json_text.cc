// Text to JSON values and back, within limits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "codec/json.h"
#include "codec/json_fields.h"
#include "text/utf8.h"

namespace dove::codec {
namespace {

constexpr int kLevelsMax = 64;

std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
}

Error refused(std::string code, std::string message, std::string place) {
  return Error{ErrorKind::kInvalid, std::move(code), std::move(message), std::move(place)};
}

// The text need not be JSON: nothing of it is kept. Each value but the first follows a comma
// or opens a list or an object; those that are empty count twice.
struct Outline {
  std::optional<std::size_t> too_deep_at;
  std::optional<std::size_t> too_many_at;
};

Outline outline_of(std::string_view text, std::size_t values_max) {
  int level = 0;
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',') {
      if (++values > values_max) return {{}, i};
    } else if (c == '{' || c == '[') {
      if (++level > kLevelsMax) return {i, {}};
      if (++values > values_max) return {{}, i};
    } else if (c == '}' || c == ']') {
      --level;
    }
  }
  return {};
}

// A whole number may be written with a point or an exponent (JSON Schema, "integer"): 25.0, 1e3.
// Beyond 2^53 such a number need not be the one that was written, and stays a fraction.
void make_whole(nlohmann::json& number) {
  constexpr double kExact = 9'007'199'254'740'992.0;
  const double value = number.get<double>();
  if (value == std::trunc(value) && std::abs(value) <= kExact) {
    number = static_cast<std::int64_t>(value);
  }
}

// Watches the parser, remembers the first field that an object has twice, and makes numbers whole.
class ParseWatch {
 public:
  bool operator()(int /*depth*/, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    switch (event) {
      case nlohmann::json::parse_event_t::object_start:
        open_.emplace_back();
        break;
      case nlohmann::json::parse_event_t::object_end:
        open_.pop_back();
        break;
      case nlohmann::json::parse_event_t::key:
        if (!open_.back().insert(parsed.get_ref<const std::string&>()).second && !found_) {
          found_ = parsed.get<std::string>();
        }
        break;
      case nlohmann::json::parse_event_t::array_start:
      case nlohmann::json::parse_event_t::array_end:
        break;
      case nlohmann::json::parse_event_t::value:
        if (parsed.is_number_float()) make_whole(parsed);
        break;
    }
    return true;
  }
  const std::optional<std::string>& found_twice() const { return found_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::optional<std::string> found_;
};

// "[json.exception...] parse error at line 1, column 5: ... - <this>; ..."
std::string library_words(std::string_view what) {
  const std::size_t dash = what.find(": ");
  if (dash != std::string_view::npos) what.remove_prefix(dash + 2);
  return std::string(what.substr(0, 200));
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, std::size_t bytes_max,
                                  std::size_t values_max) {
  if (text.size() > bytes_max) {
    return Error{ErrorKind::kTooLarge, "too_large",
                 fmt::format("{} bytes of JSON are over the limit of {}", text.size(), bytes_max),
                 ""};
  }
  if (const std::size_t good = text::utf8_bytes(text); good != text.size()) {
    return refused("invalid_utf8", "the text is not UTF-8: convert it", place_of(text, good + 1));
  }
  const Outline outline = outline_of(text, values_max);
  if (outline.too_deep_at) {
    return refused("too_deep", fmt::format("nested deeper than {} levels", kLevelsMax),
                   place_of(text, *outline.too_deep_at + 1));
  }
  if (outline.too_many_at) {
    return Error{ErrorKind::kTooLarge, "too_many_values",
                 fmt::format("this JSON has more than the {} values that are taken at once; split "
                             "it into several requests with fewer entries",
                             values_max),
                 place_of(text, *outline.too_many_at + 1)};
  }
  ParseWatch watch;
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(text, std::ref(watch));
  } catch (const nlohmann::json::parse_error& error) {
    return refused("malformed_json",
                   fmt::format("this is not JSON: {}", library_words(error.what())),
                   place_of(text, error.byte));
  } catch (const std::exception& error) {
    return refused("malformed_json",
                   fmt::format("this is not JSON: {}", library_words(error.what())), "");
  }
  if (watch.found_twice()) {
    const std::string name = watch.found_twice()->substr(0, 100);
    return refused("duplicate_field", fmt::format("the field \"{}\" is there twice", name), name);
  }
  return value;
}

std::string dump_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace dove::codec
