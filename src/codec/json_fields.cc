#include "codec/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "codec/quantity.h"
#include "model/huge_pages.h"
#include "text/spelling.h"

namespace dove::codec {
namespace {

constexpr std::size_t kCountablesMax = 64;
constexpr std::int64_t kCountableAmountMax = std::int64_t{1} << 53;

std::string shown(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return text.size() > 60 ? out + "..." : out;
}

}  // namespace

void Failure::set(std::string code, std::string message, std::string field) {
  if (error_) return;
  error_ = Error{ErrorKind::kInvalid, std::move(code), std::move(message), std::move(field)};
}

void Failure::set(Error error, std::string field) {
  if (error_) return;
  error.field = std::move(field);
  error_ = std::move(error);
}

JsonFields::JsonFields(const Json& value, std::string path, Failure& failure)
    : value_(value), path_(std::move(path)), failure_(failure), is_object_(value.is_object()) {
  if (!is_object_) {
    failure_.set("wrong_type", fmt::format("expected an object, found {}", type_word(value)),
                 path_);
  }
}

std::string JsonFields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void JsonFields::fail(std::string_view name, std::string code, std::string message) {
  failure_.set(std::move(code), std::move(message), path_of(name));
}

const JsonFields::Json* JsonFields::find(std::string_view name) {
  known_.emplace_back(name);
  if (!is_object_) return nullptr;
  const auto found = value_.find(name);
  if (found == value_.end() || found->is_null()) return nullptr;
  return &*found;
}

const JsonFields::Json* JsonFields::find_alias(std::string_view name,
                                               std::span<const std::string_view> suffixes,
                                               std::string& found) {
  const Json* value = nullptr;
  for (std::string_view suffix : suffixes) {
    std::string alias = std::string(name) + std::string(suffix);
    const Json* here = find(alias);
    if (here == nullptr) continue;
    if (value != nullptr) {
      fail(alias, "given_twice",
           fmt::format("{} and {} say the same: give one of them", found, alias));
    }
    value = here;
    found = std::move(alias);
  }
  return value;
}

void JsonFields::text(std::string_view name, std::string& out, const TextRule& rule) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_string()) {
    return fail(name, "wrong_type", fmt::format("expected text, found {}", type_word(*value)));
  }
  const auto& text = value->get_ref<const std::string&>();
  if (auto error = check_text(text, rule)) return failure_.set(std::move(*error), path_of(name));
  out = text;
}

void JsonFields::boolean(std::string_view name, bool& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) {
    return fail(name, "wrong_type",
                fmt::format("expected true or false, found {}", type_word(*value)));
  }
  out = value->get<bool>();
}

std::optional<std::int64_t> JsonFields::number(const Json& value, std::string_view name,
                                               std::int64_t min, std::int64_t max) {
  if (!value.is_number_integer()) {
    fail(name, "wrong_type", fmt::format("expected a whole number, found {}", type_word(value)));
    return std::nullopt;
  }
  const bool too_large = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() >
                             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = too_large ? max : value.get<std::int64_t>();
  if (too_large || number < min || number > max) {
    fail(name, "out_of_range",
         fmt::format("{} is out of range: from {} to {}", value.dump(), min, max));
    return std::nullopt;
  }
  return number;
}

void JsonFields::integer(std::string_view name, std::int32_t& out, std::int64_t min,
                         std::int64_t max) {
  const Json* value = find(name);
  if (value == nullptr) return;
  max = std::min<std::int64_t>(max, std::numeric_limits<std::int32_t>::max());
  min = std::max<std::int64_t>(min, std::numeric_limits<std::int32_t>::min());
  if (const auto got = number(*value, name, min, max)) out = static_cast<std::int32_t>(*got);
}

void JsonFields::integer(std::string_view name, std::int64_t& out, std::int64_t min,
                         std::int64_t max) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (const auto got = number(*value, name, min, max)) out = *got;
}

void JsonFields::integer(std::string_view name, std::uint64_t& out) {
  std::int64_t value = static_cast<std::int64_t>(out);
  integer(name, value, 0, std::numeric_limits<std::int64_t>::max());
  out = static_cast<std::uint64_t>(value);
}

void JsonFields::bytes(std::string_view name, std::int64_t& out, std::int64_t min) {
  static constexpr std::array<std::string_view, 2> kSuffixes{"", "_bytes"};
  std::string found;
  const Json* value = find_alias(name, kSuffixes, found);
  if (value == nullptr) return;
  if (value->is_string()) {
    auto parsed = parse_bytes(value->get_ref<const std::string&>());
    if (!parsed.ok()) return failure_.set(parsed.error(), path_of(found));
    out = *parsed;
  } else if (const auto got =
                 number(*value, found, min, std::numeric_limits<std::int64_t>::max())) {
    out = *got;
  }
}

void JsonFields::span(std::string_view name, Span& out) {
  static constexpr std::array<std::string_view, 3> kSuffixes{"", "_s", "_us"};
  std::string found;
  const Json* value = find_alias(name, kSuffixes, found);
  if (value == nullptr) return;
  constexpr std::int64_t kMax_s = std::int64_t{100} * 366 * 86400;
  const bool in_us = found.ends_with("_us");
  if (value->is_string() && !in_us) {
    auto parsed = parse_span(value->get_ref<const std::string&>());
    if (!parsed.ok()) return failure_.set(parsed.error(), path_of(found));
    out = *parsed;
  } else if (const auto got = number(*value, found, 0, in_us ? kMax_s * 1'000'000 : kMax_s)) {
    out = in_us ? Span{*got} : seconds(*got);
  }
}

void JsonFields::instant(std::string_view name, Instant& out) {
  const std::string in_us = std::string(name) + "_us";
  const Json* text = find(name);
  std::int64_t us = 0;
  constexpr std::int64_t kYear2200_us = 7'258'118'400'000'000;
  const bool has_us = has(in_us);
  integer(in_us, us, 0, kYear2200_us);
  if (has_us) out = Instant{us};
  if (text == nullptr) return;
  if (!text->is_string()) {
    return fail(name, "wrong_type",
                fmt::format(R"(expected an instant as in "2026-01-02T03:04:05Z", found {})",
                            type_word(*text)));
  }
  auto parsed = parse_instant(text->get_ref<const std::string&>());
  if (!parsed.ok()) return failure_.set(parsed.error(), path_of(name));
  if (parsed->us < 0 || parsed->us > kYear2200_us) {
    return fail(name, "out_of_range",
                fmt::format("{} is out of range: from the year 1970 to 2200", text->dump()));
  }
  // The API writes both, so both may come back.
  if (has_us && *parsed != out) {
    return fail(in_us, "given_twice",
                fmt::format("{} and {} differ: give one of them", name, in_us));
  }
  out = *parsed;
}

void JsonFields::whole(std::string_view name, std::int32_t& out, std::int64_t max) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_string()) {
    if (const auto got = number(*value, name, 0, max)) out = static_cast<std::int32_t>(*got);
    return;
  }
  auto milli = parse_milli(value->get_ref<const std::string&>());
  if (!milli.ok()) return failure_.set(milli.error(), path_of(name));
  if (*milli > max * 1000) {
    return fail(
        name, "out_of_range",
        fmt::format("{} is over the limit of {}", value->get_ref<const std::string&>(), max));
  }
  out = static_cast<std::int32_t>((*milli + 999) / 1000);
}

void JsonFields::texts(std::string_view name, std::vector<std::string>& out, const TextRule& rule,
                       std::size_t count_max) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) {
    return fail(name, "wrong_type",
                fmt::format("expected a list of texts, found {}", type_word(*value)));
  }
  if (value->size() > count_max) {
    return fail(name, "too_many",
                fmt::format("{} entries are over the limit of {}", value->size(), count_max));
  }
  out.clear();
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& item = (*value)[i];
    const std::string place = fmt::format("{}[{}]", name, i);
    if (!item.is_string()) {
      return fail(place, "wrong_type", fmt::format("expected text, found {}", type_word(item)));
    }
    const auto& text = item.get_ref<const std::string&>();
    if (auto error = check_text(text, rule)) return failure_.set(std::move(*error), path_of(place));
    out.push_back(text);
  }
}

void JsonFields::integers(std::string_view name, std::vector<std::int32_t>& out, std::int64_t min,
                          std::int64_t max, std::size_t count_max) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) {
    return fail(name, "wrong_type",
                fmt::format("expected a list of whole numbers, found {}", type_word(*value)));
  }
  if (value->size() > count_max) {
    return fail(name, "too_many",
                fmt::format("{} entries are over the limit of {}", value->size(), count_max));
  }
  out.clear();
  for (std::size_t i = 0; i < value->size(); ++i) {
    const auto got = number((*value)[i], fmt::format("{}[{}]", name, i), min, max);
    if (!got) return;
    out.push_back(static_cast<std::int32_t>(*got));
  }
}

void JsonFields::text_map(std::string_view name, std::map<std::string, std::string>& out,
                          const TextRule& key_rule, const TextRule& value_rule,
                          std::size_t count_max) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fail(name, "wrong_type",
                fmt::format("expected an object of texts, found {}", type_word(*value)));
  }
  if (value->size() > count_max) {
    return fail(name, "too_many",
                fmt::format("{} entries are over the limit of {}", value->size(), count_max));
  }
  out.clear();
  for (const auto& [key, item] : value->items()) {
    const std::string place = fmt::format("{}.{}", name, shown(key));
    if (auto error = check_text(key, key_rule)) {
      return failure_.set(std::move(*error), path_of(place));
    }
    if (!item.is_string()) {
      return fail(place, "wrong_type", fmt::format("expected text, found {}", type_word(item)));
    }
    const auto& text = item.get_ref<const std::string&>();
    if (auto error = check_text(text, value_rule)) {
      return failure_.set(std::move(*error), path_of(place));
    }
    out[key] = text;
  }
}

void JsonFields::countables(std::string_view name, std::vector<Countable>& out, Zeros zeros) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fail(name, "wrong_type",
                fmt::format("expected an object of amounts, found {}", type_word(*value)));
  }
  if (value->size() > kCountablesMax) {
    return fail(name, "too_many",
                fmt::format("{} entries are over the limit of {}", value->size(), kCountablesMax));
  }
  out.clear();
  for (const auto& [key, item] : value->items()) {
    const std::string place = fmt::format("{}.{}", name, shown(key));
    if (auto error = check_text(key, {64, TextRule::Kind::kCountableName})) {
      return failure_.set(std::move(*error), path_of(place));
    }
    std::int64_t amount = 0;
    if (item.is_string() && huge_page_bytes(key) > 0) {
      auto parsed = parse_bytes(item.get_ref<const std::string&>());
      if (!parsed.ok()) return failure_.set(parsed.error(), path_of(place));
      if (*parsed > kCountableAmountMax) {
        return fail(place, "out_of_range",
                    fmt::format("over the limit of {}", kCountableAmountMax));
      }
      amount = *parsed;
    } else {
      const auto read = number(item, place, 0, kCountableAmountMax);
      if (!read) return;
      amount = *read;
    }
    if (amount > 0 || zeros == Zeros::kKept) out.push_back({key, amount});
  }
  std::sort(out.begin(), out.end(),
            [](const Countable& a, const Countable& b) { return a.name < b.name; });
}

int JsonFields::one_of(std::string_view name, std::span<const std::string_view> words) {
  std::string text;
  if (!has(name)) return -1;
  this->text(name, text);
  const auto found = std::find(words.begin(), words.end(), text);
  if (found != words.end()) return static_cast<int>(found - words.begin());
  const std::string_view near = text::nearest(text, words);
  fail(name, "bad_value",
       fmt::format("\"{}\" is none of {}{}", shown(text), fmt::join(words, ", "),
                   near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
  return -1;
}

void JsonFields::object(std::string_view name, const std::function<void(JsonFields&)>& read) {
  const Json* value = find(name);
  if (value == nullptr) return;
  JsonFields inner(*value, path_of(name), failure_);
  read(inner);
  inner.done();
}

void JsonFields::objects(std::string_view name, std::size_t count_max,
                         const std::function<void(JsonFields&, std::size_t)>& read) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) {
    return fail(name, "wrong_type", fmt::format("expected a list, found {}", type_word(*value)));
  }
  if (value->size() > count_max) {
    return fail(name, "too_many",
                fmt::format("{} entries are over the limit of {}", value->size(), count_max));
  }
  for (std::size_t i = 0; i < value->size() && !failure_.any(); ++i) {
    JsonFields inner((*value)[i], path_of(fmt::format("{}[{}]", name, i)), failure_);
    read(inner, i);
    inner.done();
  }
}

void JsonFields::done() {
  if (!is_object_ || unknown_allowed_ || failure_.any()) return;
  for (const auto& [name, value] : value_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string_view near = text::nearest(name, known_);
    fail(shown(name), "unknown_field",
         near.empty() ? fmt::format("there is no field \"{}\" here", shown(name))
                      : fmt::format("there is no field \"{}\" here; did you mean \"{}\"?",
                                    shown(name), near));
    return;
  }
}

}  // namespace dove::codec
