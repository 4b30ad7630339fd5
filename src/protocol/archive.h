// Writer and Reader: one description of a message serves both ends.
//
// A message has one function template `fields(ar, value)` that names its fields in order. With a
// Writer they become a JSON object; with a Reader they are filled from one. `must` names a field
// without which the message means nothing; a field that `may` be missing, or null, keeps the value
// that its struct gives it. An empty std::optional is not written. Fields that the reader does not
// know are ignored, so that a newer peer can say more.
//
// The Reader refuses a wrong type, a number that does not fit, and more than a stated limit; it
// keeps its first failure, with the field's path. Include only from .cc files and from the
// messages' headers of this part. One thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/core_set.h"
#include "model/ids.h"
#include "protocol/forms.h"
#include "telemetry/json_text.h"

namespace dove::protocol {

using Json = nlohmann::json;

// What stands in a message as JSON already; never empty when it is written.
struct RawJson {
  std::string text;
};

// How long lists may be that no message limits further.
constexpr std::size_t kListMax = 1'000'000;

class Writer {
 public:
  // Values are only read: `fields(ar, Ar::Of<T>&)`.
  template <class T>
  using Of = const T;
  static constexpr bool kReads = false;

  // Appends to `out`, which must outlive the writer, the fields of one object without its braces.
  explicit Writer(std::string& out) : out_(out) {}

  template <class T>
  void must(const char* name, const T& value) {
    key(name);
    one(value);
  }
  template <class T>
  void may(const char* name, const T& value) {
    must(name, value);
  }
  template <class T>
  void may(const char* name, const std::optional<T>& value) {
    if (value.has_value()) must(name, *value);
  }
  // Text of at most `bytes_max` bytes: longer text is refused, or cut.
  void text(const char* name, const std::string& value, std::size_t /*bytes_max*/) {
    must(name, value);
  }
  void cut(const char* name, const std::string& value, std::size_t /*bytes_max*/) {
    must(name, value);
  }
  // A number that is taken for the nearest one of the range.
  template <class T>
  void clamped(const char* name, const T& value, std::int64_t /*min*/, std::int64_t /*max*/) {
    must(name, value);
  }
  template <class T>
  void list(const char* name, const std::vector<T>& values, std::size_t /*count_max*/) {
    must(name, values);
  }

  template <class T>
  void whole(const T&) {}  // only read
  // Objects that were written before.
  void lines(const char* name, const std::vector<std::string>& lines) {
    key(name);
    out_ += '[';
    for (std::size_t i = 0; i < lines.size(); ++i) out_ += (i > 0 ? "," : "") + lines[i];
    out_ += ']';
  }
  // An object whose fields belong to the same struct.
  template <class Fields>
  void nested(const char* name, const Fields& with) {
    key(name);
    out_ += '{';
    Writer inner(out_);
    with(inner);
    out_ += '}';
  }

  template <class T>
  void object(const T& value) {
    out_ += '{';
    Writer inner(out_);
    fields(inner, value);
    out_ += '}';
  }

 private:
  void key(const char* name) {
    out_ += is_first_ ? "\"" : ",\"";
    out_ += name;
    out_ += "\":";
    is_first_ = false;
  }

  template <class List>
  void array(const List& values) {
    out_ += '[';
    bool is_first = true;
    for (const auto& value : values) {
      if (!is_first) out_ += ',';
      is_first = false;
      one(value);
    }
    out_ += ']';
  }

  template <class T>
  void one(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      out_ += std::to_string(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      out_ += Json(value).dump();
    } else if constexpr (std::is_enum_v<T>) {
      telemetry::append_json_string(out_, words_of(value)[static_cast<std::size_t>(value)]);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      telemetry::append_json_string(out_, value);
    } else if constexpr (std::is_same_v<T, RawJson>) {
      out_ += value.text;
    } else if constexpr (HasForm<T>) {
      write_form(out_, value);
    } else {
      noun(value);
    }
  }
  template <class Tag, class Rep>
  void noun(const Id<Tag, Rep>& id) {
    out_ += std::to_string(id.value);
  }
  void noun(const CoreSet& cores) { array(cores.ids()); }
  template <class T>
  void noun(const std::vector<T>& values) {
    array(values);
  }
  template <class T>
  void noun(const std::set<T>& values) {
    array(values);
  }
  template <class T>
  void noun(const std::map<std::string, T>& values) {
    out_ += '{';
    Writer inner(out_);
    for (const auto& [name, value] : values) inner.pair(name, value);
    out_ += '}';
  }
  template <class T>
    requires requires(Writer& ar, const T& value) { fields(ar, value); }
  void noun(const T& value) {
    object(value);
  }
  template <class T>
  void pair(const std::string& name, const T& value) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    telemetry::append_json_string(out_, name);
    out_ += ':';
    one(value);
  }

  std::string& out_;
  bool is_first_ = true;
};

// The first thing that could not be read; `where` grows outwards: "events[3].job".
struct Failure {
  bool is_set = false;
  std::string where;
  std::string what;

  void set(std::string why) {
    if (is_set) return;
    is_set = true;
    what = std::move(why);
  }
  void within(const std::string& name) {
    where = where.empty() || where.front() == '[' ? name + where : name + '.' + where;
  }
};

class Reader {
 public:
  template <class T>
  using Of = T;
  static constexpr bool kReads = true;

  // Both must outlive the reader.
  Reader(const Json& object, Failure& failure) : object_(object), failure_(failure) {
    if (!object.is_object()) failure.set("is no object");
  }

  template <class T>
  void must(const char* name, T& value) {
    if (const Json* found = find(name)) return read(name, *found, value);
    fail(name, "is missing");
  }
  template <class T>
  void may(const char* name, T& value) {
    if (const Json* found = find(name)) read(name, *found, value);
  }
  template <class T>
  void may(const char* name, std::optional<T>& value) {
    if (const Json* found = find(name)) read(name, *found, value.emplace());
  }
  void text(const char* name, std::string& value, std::size_t bytes_max) {
    may(name, value);
    if (value.size() > bytes_max)
      fail(name, "has more than " + std::to_string(bytes_max) + " bytes");
  }
  void cut(const char* name, std::string& value, std::size_t bytes_max) {
    may(name, value);
    if (value.size() > bytes_max) value.resize(bytes_max);
  }
  template <class T>
  void clamped(const char* name, T& value, std::int64_t min, std::int64_t max) {
    std::int64_t wide = value;
    may(name, wide);
    value = static_cast<T>(std::clamp(wide, min, max));
  }
  template <class T>
  void list(const char* name, std::vector<T>& values, std::size_t count_max) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (found->is_array() && found->size() > count_max) {
      return fail(name, "has more than " + std::to_string(count_max) + " entries");
    }
    read(name, *found, values);
  }

  // A noun of the model whose fields stand among those of the message.
  template <class T>
  void whole(T& value) {
    if (!failure_.is_set) form(object_, value);
  }

  template <class Fields>
  void nested(const char* name, const Fields& with) {
    const Json* found = find(name);
    if (found == nullptr) return fail(name, "is missing");
    Reader inner(*found, failure_);
    if (!failure_.is_set) with(inner);
    if (failure_.is_set) failure_.within(name);
  }

  void lines(const char* name, std::vector<std::string>& lines) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (!found->is_array()) return fail(name, "is no list");
    for (const Json& line : *found) lines.push_back(text_of(line));
  }

  bool failed() const { return failure_.is_set; }
  void fail(const char* name, std::string why) {
    if (failure_.is_set) return;
    failure_.set(std::move(why));
    failure_.within(name);
  }

 private:
  static std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  const Json* find(const char* name) const {
    if (failure_.is_set) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  template <class T>
  void read(const std::string& name, const Json& json, T& value) {
    one(json, value);
    if (failure_.is_set) failure_.within(name);
  }

  template <class T>
  void one(const Json& json, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return failure_.set("is neither true nor false");
      value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      integer(json, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json.is_number()) return failure_.set("is no number");
      value = json.get<T>();
    } else if constexpr (std::is_enum_v<T>) {
      word(json, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) return failure_.set("is no text");
      value = json.get<std::string>();
    } else if constexpr (std::is_same_v<T, RawJson>) {
      value.text = text_of(json);
    } else if constexpr (HasForm<T>) {
      form(json, value);
    } else {
      noun(json, value);
    }
  }
  template <class T>
  void form(const Json& json, T& value) {
    if (Result<void> taken = read_form(json, value); !taken.ok()) {
      failure_.set(taken.error().message);
      failure_.where = taken.error().field;
    }
  }
  template <class T>
  void integer(const Json& json, T& value) {
    using Limits = std::numeric_limits<T>;
    if (!json.is_number_integer()) return failure_.set("is no whole number");
    const bool is_negative = !json.is_number_unsigned() && json.get<std::int64_t>() < 0;
    const bool fits = is_negative
                          ? std::is_signed_v<T> &&
                                json.get<std::int64_t>() >= static_cast<std::int64_t>(Limits::min())
                          : json.get<std::uint64_t>() <= static_cast<std::uint64_t>(Limits::max());
    if (!fits) return failure_.set("is out of its range");
    value = json.get<T>();
  }
  template <class T>
  void word(const Json& json, T& value) {
    const auto words = words_of(value);
    const auto at = json.is_string()
                        ? std::find(words.begin(), words.end(), json.get_ref<const std::string&>())
                        : words.end();
    if (at == words.end()) return failure_.set("is a word that is not known here");
    value = static_cast<T>(at - words.begin());
  }
  template <class Tag, class Rep>
  void noun(const Json& json, Id<Tag, Rep>& id) {
    integer(json, id.value);
  }
  void noun(const Json& json, CoreSet& cores) {
    std::vector<std::int32_t> ids;
    noun(json, ids);
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= CoreSet::kEnd) return failure_.set("names a core that cannot be");
      cores.insert(id);
    }
  }
  template <class T>
  void noun(const Json& json, std::vector<T>& values) {
    if (!json.is_array()) return failure_.set("is no list");
    if (json.size() > kListMax) return failure_.set("has too many entries");
    values.clear();
    values.reserve(json.size());
    for (const Json& item : json) {
      one(item, values.emplace_back());
      if (failure_.is_set) return failure_.within('[' + std::to_string(values.size() - 1) + ']');
    }
  }
  template <class T>
  void noun(const Json& json, std::set<T>& values) {
    std::vector<T> list;
    noun(json, list);
    values =
        std::set<T>(std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
  }
  template <class T>
  void noun(const Json& json, std::map<std::string, T>& values) {
    if (!json.is_object()) return failure_.set("is no object");
    for (const auto& [name, item] : json.items()) read(name, item, values[name]);
  }
  template <class T>
    requires requires(Reader& ar, T& value) { fields(ar, value); }
  void noun(const Json& json, T& value) {
    Reader inner(json, failure_);
    if (!failure_.is_set) fields(inner, value);
  }

  const Json& object_;
  Failure& failure_;
};

// One object as text, without line ends.
template <class T>
std::string write(const T& message) {
  std::string out;
  Writer(out).object(message);
  return out;
}

// Error kInvalid malformed_message: what of it cannot be read, with its place.
Error malformed(const Failure& failure);

template <class T>
Result<T> read(const Json& json) {
  T message;
  Failure failure;
  Reader ar(json, failure);
  if (!failure.is_set) fields(ar, message);
  if (failure.is_set) return malformed(failure);
  return message;
}

}  // namespace dove::protocol
