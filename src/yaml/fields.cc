#include "yaml/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "text/shown.h"
#include "text/spelling.h"

namespace dove::yaml {
namespace {

constexpr std::size_t kLineBytesMax = 1024;
constexpr std::size_t kNamesShown = 20;

Error invalid(std::string code, std::string message, const text::Place& place) {
  return text::at_place(Error{ErrorKind::kInvalid, std::move(code), std::move(message), ""}, place);
}

Result<bool> flag_of(const Value& value, std::string_view what) {
  if (value.kind == Value::Kind::kScalar && value.text == "true") return true;
  if (value.kind == Value::Kind::kScalar && value.text == "false") return false;
  return wrong(value, fmt::format("{} is true or false", what));
}

}  // namespace

Error wrong(const Value& at, std::string message) {
  return invalid("bad_value", std::move(message), at.place);
}

Result<std::string> text_of(const Value& value, std::string_view what) {
  if (value.kind == Value::Kind::kScalar) return value.text;
  return wrong(value, fmt::format("{} is a text", what));
}

Result<std::string> line_of(const Value& value, std::string_view what) {
  TRY_ASSIGN(std::string text, text_of(value, what));
  const bool is_line = std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20; });
  if (is_line && text.size() <= kLineBytesMax) return text;
  return wrong(value, fmt::format("{} is a line of at most 1 KiB", what));
}

Result<std::int64_t> integer_of(const Value& value, std::string_view what, std::int64_t least,
                                std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [at, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc() && at == end && number >= least && number <= most) return number;
  return wrong(value, fmt::format("{} is a whole number from {} to {}", what, least, most));
}

Error coded(Error error, std::string code, std::string_view remedy) {
  error.code = std::move(code);
  if (!remedy.empty() && !error.message.ends_with('?'))
    error.message += fmt::format("; {}", remedy);
  return error;
}

std::optional<std::size_t> Fields::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < map_.keys.size(); ++i) {
    if (map_.keys[i]->text == name) return i;
  }
  return std::nullopt;
}

void Fields::keep(Error error) {
  if (!first_) first_ = std::move(error);
}

// What is blank has no place of its own.
Error Fields::wrong_at(std::size_t index, std::string message) const {
  const bool is_blank = map_.values[index]->kind == Value::Kind::kNull;
  return yaml::wrong(is_blank ? *map_.keys[index] : *map_.values[index], std::move(message));
}

Error Fields::wrong(std::string_view name, std::string message) const {
  const std::optional<std::size_t> index = index_of(name);
  return index ? wrong_at(*index, std::move(message)) : wrong(std::move(message));
}

Error Fields::wrong(std::string message) const { return yaml::wrong(map_, std::move(message)); }

const Value* Fields::find(std::string_view name) {
  if (std::ranges::find(names_, name) == names_.end()) names_.emplace_back(name);
  const std::optional<std::size_t> index = index_of(name);
  if (!index) return nullptr;
  for (std::size_t i = *index + 1; i < map_.keys.size(); ++i) {
    if (map_.keys[i]->text != name) continue;
    keep(yaml::wrong(*map_.keys[i], fmt::format("{} is there twice: remove one", name)));
  }
  return map_.values[*index].get();
}

// The value, unless it is missing or blank.
const Value* Fields::filled(std::string_view name, Blank blank) {
  const Value* const value = find(name);
  if (value == nullptr || value->kind != Value::Kind::kNull) return value;
  if (blank == Blank::kRefused) {
    keep(wrong(name, fmt::format("{} has no value: give it one, or take it out", name)));
  }
  return nullptr;
}

template <class T>
void Fields::take(std::string_view name, T& out,
                  Result<T> (*read)(const Value&, std::string_view)) {
  const Value* const value = filled(name, Blank::kRefused);
  if (value == nullptr) return;
  Result<T> taken = read(*value, name);
  if (!taken.ok()) return keep(taken.error());
  out = std::move(taken).value();
}

template <class T>
void Fields::take_all(std::string_view name, std::vector<T>& out, std::size_t most,
                      Result<T> (*read)(const Value&, std::string_view)) {
  const std::vector<ValueRef>& items = list(name, most);
  const Value* const value = find(name);
  if (value == nullptr || value->kind != Value::Kind::kList) return;
  out.clear();
  for (const ValueRef& item : items) {
    Result<T> taken = read(*item, fmt::format("each of {}", name));
    if (!taken.ok()) return keep(taken.error());
    out.push_back(std::move(taken).value());
  }
}

void Fields::text(std::string_view name, std::string& out) { take(name, out, text_of); }

void Fields::must_text(std::string_view name, std::string& out) {
  text(name, out);
  if (find(name) == nullptr) keep(wrong(fmt::format("there is no {}; {} has one", name, what_)));
}

void Fields::line(std::string_view name, std::string& out) { take(name, out, line_of); }

void Fields::lines(std::string_view name, std::vector<std::string>& out, std::size_t most) {
  take_all(name, out, most, line_of);
}

void Fields::texts(std::string_view name, std::vector<std::string>& out, std::size_t most) {
  take_all(name, out, most, text_of);
}

void Fields::flag(std::string_view name, bool& out) { take(name, out, flag_of); }

void Fields::integer(std::string_view name, std::int64_t& out, std::int64_t least,
                     std::int64_t most) {
  const Value* const value = filled(name, Blank::kRefused);
  if (value == nullptr) return;
  const Result<std::int64_t> taken = integer_of(*value, name, least, most);
  if (!taken.ok()) return keep(taken.error());
  out = *taken;
}

const std::vector<ValueRef>& Fields::list(std::string_view name, std::size_t most) {
  static const std::vector<ValueRef> kNone;
  const Value* const value = filled(name, blank_);
  if (value == nullptr) return kNone;
  if (value->kind == Value::Kind::kList && value->values.size() <= most) return value->values;
  keep(yaml::wrong(*value, fmt::format("{} is a list of at most {}, as in [a, b]", name, most)));
  return kNone;
}

const Value* Fields::map(std::string_view name) {
  const Value* const value = filled(name, blank_);
  if (value == nullptr) return nullptr;
  if (value->kind != Value::Kind::kMap) {
    keep(yaml::wrong(*value, fmt::format("{} has names with values, as in {{a: 1}}", name)));
    return nullptr;
  }
  std::set<std::string_view> keys;
  for (const ValueRef& key : value->keys) {
    if (keys.insert(key->text).second) continue;
    keep(yaml::wrong(*key, fmt::format("{} is there twice: remove one", text::shown(key->text))));
  }
  return value;
}

void Fields::allow(std::initializer_list<std::string_view> names) {
  names_.insert(names_.end(), names.begin(), names.end());
}

Result<void> Fields::end() const {
  if (map_.kind != Value::Kind::kMap) {
    return wrong(fmt::format("{} has fields: {}", what_, fmt::join(names_, ", ")));
  }
  for (const ValueRef& key : map_.keys) {
    if (allows_all_ || std::ranges::find(names_, key->text) != names_.end()) continue;
    const std::string_view near = text::nearest(key->text, names_);
    std::string message = fmt::format("{} has no field `{}`", what_, text::shown(key->text));
    if (!near.empty()) {
      message += fmt::format("; did you mean `{}`?", near);
    } else if (names_.size() <= kNamesShown) {
      message += fmt::format("; it has: {}", fmt::join(names_, ", "));
    }
    return invalid("unknown_field", std::move(message), key->place);
  }
  if (first_) return *first_;
  return {};
}

}  // namespace dove::yaml
