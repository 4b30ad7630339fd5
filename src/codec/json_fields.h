// JsonFields: reads one JSON object strictly, field by field: objects, submissions, requests.
//
// Ask for each known field, then call done(), which refuses what was not asked for and suggests the
// nearest known name. A field that is absent or null leaves its target as it is. The first failure
// is kept in the Failure that all nested readers share; later calls then change nothing that
// matters, so callers check once at the end. Fields with a unit have aliases: time_limit ("2h"),
// time_limit_s, time_limit_us; memory ("4Gi"), memory_bytes. Only one of them may be given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/field_rules.h"
#include "model/resources.h"
#include "model/time.h"

namespace dove::codec {

class Failure {
 public:
  void set(std::string code, std::string message, std::string field);
  void set(Error error, std::string field);
  bool any() const { return error_.has_value(); }
  // REQUIRES: any().
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

// Refuses `text` with the reason in words, else nothing.
std::optional<Error> check_text(std::string_view text, const TextRule& rule);

class JsonFields {
 public:
  using Json = nlohmann::json;
  // `value` and `failure` must outlive it. `path` is "" for the whole document.
  JsonFields(const Json& value, std::string path, Failure& failure);

  // The field when it is there and not null.
  const Json* find(std::string_view name);
  bool has(std::string_view name) { return find(name) != nullptr; }

  void text(std::string_view name, std::string& out, const TextRule& rule = kLineRule);
  void boolean(std::string_view name, bool& out);
  void integer(std::string_view name, std::int32_t& out, std::int64_t min, std::int64_t max);
  void integer(std::string_view name, std::int64_t& out, std::int64_t min, std::int64_t max);
  void integer(std::string_view name, std::uint64_t& out);
  // `name` or `name`_bytes.
  void bytes(std::string_view name, std::int64_t& out, std::int64_t min = 0);
  // `name`, `name`_s or `name`_us; never negative.
  void span(std::string_view name, Span& out);
  // `name` or `name`_us, or both when they agree.
  void instant(std::string_view name, Instant& out);
  // A whole number, or a quantity whose fraction counts as one more.
  void whole(std::string_view name, std::int32_t& out, std::int64_t max);
  void texts(std::string_view name, std::vector<std::string>& out, const TextRule& rule,
             std::size_t count_max);
  void text_map(std::string_view name, std::map<std::string, std::string>& out,
                const TextRule& key_rule, const TextRule& value_rule, std::size_t count_max);
  // {"rdma": 1}; ascending by name in `out`. A limit of 0 says something, an amount of 0 does not.
  enum class Zeros { kDropped, kKept };
  void countables(std::string_view name, std::vector<Countable>& out,
                  Zeros zeros = Zeros::kDropped);
  void integers(std::string_view name, std::vector<std::int32_t>& out, std::int64_t min,
                std::int64_t max, std::size_t count_max);
  // One of `words`: its index, or -1 when absent.
  int one_of(std::string_view name, std::span<const std::string_view> words);
  void object(std::string_view name, const std::function<void(JsonFields&)>& read);
  void objects(std::string_view name, std::size_t count_max,
               const std::function<void(JsonFields&, std::size_t)>& read);

  // Refuses fields that nobody asked for, unless they were allowed.
  void done();
  void allow_unknown() { unknown_allowed_ = true; }

  void fail(std::string_view name, std::string code, std::string message);
  std::string path_of(std::string_view name) const;
  Failure& failure() { return failure_; }

 private:
  // The one alias of several that is there; fails when two are.
  const Json* find_alias(std::string_view name, std::span<const std::string_view> suffixes,
                         std::string& found);
  std::optional<std::int64_t> number(const Json& value, std::string_view name, std::int64_t min,
                                     std::int64_t max);

  const Json& value_;
  std::string path_;
  Failure& failure_;
  bool is_object_;
  bool unknown_allowed_ = false;
  std::vector<std::string> known_;
};

// "integer", "text", ...: what a JSON value is, for messages.
std::string_view type_word(const nlohmann::json& value);

}  // namespace dove::codec
