// JsonPut and JsonTake: lists of fields (model/job_fields.h, model/exec_fields.h) as JSON, in
// either direction. Internal to codec.
//
// The overloads json_of and take, here or beside the noun, know what a type looks like in JSON;
// words_of names the words of an enumeration.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "codec/words.h"
#include "model/field_rules.h"

namespace dove::codec {

inline std::span<const std::string_view> words_of(Preempt /*all*/) { return preempt_modes(); }
inline std::span<const std::string_view> words_of(Spread /*all*/) { return spreads(); }
inline std::span<const std::string_view> words_of(LaunchMode /*all*/) { return launch_modes(); }
std::span<const std::string_view> words_of(ContainerNetwork all);
std::span<const std::string_view> words_of(ContainerNaming all);

// -- writing: what is empty as JSON says nothing -------------------------------------------------

Json json_of(const std::vector<TaskGroup>& groups);
Json json_of(const std::vector<Countable>& amounts);
Json json_of(const std::vector<Dependency>& dependencies);
Json json_of(const ArraySpec& array);
Json json_of(const std::vector<NoticeAbout>& about);
Json json_of(const std::vector<SecretUse>& secrets);
Json json_of(const std::vector<Volume>& volumes);
Json json_of(const std::vector<PublishedPort>& ports);
Json json_of(const ContainerSpec& container);
Json json_of(const AppSpec& app);
inline Json json_of(const std::vector<std::string>& texts) { return texts; }
inline Json json_of(const std::map<std::string, std::string>& texts) { return texts; }

class JsonPut {
 public:
  template <class T>
  using Of = const T;

  // Fields are put into `object`, which must outlive it.
  explicit JsonPut(Json& object) : object_(object) {}

  template <class T, class Rule>
  void operator()(std::uint64_t /*layout*/, const char* name, const T& value, const Rule& rule) {
    put(name, value, rule, true);
  }
  template <class T, class Rule>
  void operator()(const char* name, const T& value, const Rule& rule) {
    put(name, value, rule, true);
  }
  template <class T, class Rule>
  void optional(std::uint64_t /*layout*/, const char* name, const T& value, const Rule& rule) {
    put(name, value, rule, false);
  }
  template <class T, class Rule>
  void optional(const char* name, const T& value, const Rule& rule) {
    put(name, value, rule, false);
  }

 private:
  template <class T, class Rule>
  void put(const char* name, const T& value, const Rule& /*rule*/, bool always) {
    if constexpr (std::is_same_v<Rule, field::Kept>) {
      return;
    } else if constexpr (std::is_same_v<T, Span>) {
      if (always || value.us != 0) put_span(object_, name, value);
    } else if constexpr (std::is_same_v<T, Instant>) {
      if (always || value.us != 0) put_instant(object_, name, value);
    } else if constexpr (std::is_enum_v<T>) {
      if (always || value != T{}) object_[name] = words_of(value)[static_cast<std::size_t>(value)];
    } else if constexpr (std::is_same_v<Rule, field::Bytes>) {
      if (always || value != 0) object_[std::string(name) + "_bytes"] = value;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      if (always || value != T{}) object_[name] = value;
    } else {
      Json json = json_of(value);
      if (always || !json.empty()) object_[name] = std::move(json);
    }
  }

  Json& object_;
};

// -- reading: what is not given leaves the value as it is ----------------------------------------

void take(JsonFields& fields, const char* name, std::vector<TaskGroup>& groups);
void take(JsonFields& fields, const char* name, std::vector<Dependency>& dependencies);
void take(JsonFields& fields, const char* name, ArraySpec& array);
void take(JsonFields& fields, const char* name, std::vector<NoticeAbout>& about);
void take(JsonFields& fields, const char* name, std::vector<SecretUse>& secrets);
void take(JsonFields& fields, const char* name, std::vector<Volume>& volumes);
void take(JsonFields& fields, const char* name, std::vector<PublishedPort>& ports);
void take(JsonFields& fields, const char* name, ContainerSpec& container);
void take(JsonFields& fields, const char* name, AppSpec& app);
// 10, "USR1" or "SIGUSR1"; never less than `min`.
void take_signal(JsonFields& fields, const char* name, std::int32_t& signal, std::int64_t min);

class JsonTake {
 public:
  template <class T>
  using Of = T;

  // `fields` must outlive it.
  explicit JsonTake(JsonFields& fields) : fields_(fields) {}

  template <class T, class Rule>
  void operator()(std::uint64_t /*layout*/, const char* name, T& value, const Rule& rule) {
    (*this)(name, value, rule);
  }
  template <class T, class Rule>
  void optional(std::uint64_t /*layout*/, const char* name, T& value, const Rule& rule) {
    (*this)(name, value, rule);
  }
  template <class T, class Rule>
  void optional(const char* name, T& value, const Rule& rule) {
    (*this)(name, value, rule);
  }

  template <class T>
  void operator()(const char* /*name*/, T& /*value*/, const field::Kept& /*rule*/) {}
  template <class T>
  void operator()(const char* /*name*/, T& /*value*/, const field::Shown& /*rule*/) {}
  void operator()(const char* name, std::string& value, const field::Text& rule) {
    fields_.text(name, value, rule.rule);
  }
  void operator()(const char* name, std::vector<std::string>& value, const field::Texts& rule) {
    fields_.texts(name, value, rule.rule, rule.count_max);
  }
  void operator()(const char* name, std::map<std::string, std::string>& value,
                  const field::TextMap& rule) {
    fields_.text_map(name, value, rule.key, rule.value, rule.count_max);
  }
  void operator()(const char* name, std::int32_t& value, const field::Within& rule) {
    fields_.integer(name, value, rule.min, rule.max);
  }
  void operator()(const char* name, std::int64_t& value, const field::Bytes& /*rule*/) {
    fields_.bytes(name, value);
  }
  void operator()(const char* name, std::int32_t& value, const field::Signal& rule) {
    take_signal(fields_, name, value, rule.min);
  }
  template <class T>
  void operator()(const char* name, T& value, const field::Plain& /*rule*/) {
    if constexpr (std::is_same_v<T, bool>) {
      fields_.boolean(name, value);
    } else if constexpr (std::is_same_v<T, Span>) {
      fields_.span(name, value);
    } else if constexpr (std::is_same_v<T, Instant>) {
      fields_.instant(name, value);
    } else if constexpr (std::is_same_v<T, std::vector<Countable>>) {
      fields_.countables(name, value);
    } else if constexpr (std::is_enum_v<T>) {
      const int found = fields_.one_of(name, words_of(value));
      if (found >= 0) value = static_cast<T>(found);
    } else {
      take(fields_, name, value);
    }
  }

 private:
  JsonFields& fields_;
};

}  // namespace dove::codec
