// The fields of a map that people write, taken by name, and every mistake in them with its place.
//
//   yaml::Fields in(*value, "a provider");
//   in.must_line("name", out.name);
//   in.flag("creates_users", out.creates_users);
//   TRY(in.end());
//
// A field that is missing leaves its variable as it is. The first mistake is kept until end(), so
// that a reader asks for all fields and looks once. Values only, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "yaml/reader.h"

namespace dove::yaml {

// A list or a map without a value, as in `devices:` alone. Anything else needs its value.
enum class Blank { kRefused, kEmpty };

class Fields {
 public:
  // `what` is the map's name in messages: "a provider", "the file". REQUIRES: `map` outlives this.
  Fields(const Value& map, std::string what, Blank blank = Blank::kRefused)
      : map_(map), what_(std::move(what)), blank_(blank) {}

  void text(std::string_view name, std::string& out);
  void must_text(std::string_view name, std::string& out);
  // A text without control characters, of at most 1 KiB.
  void line(std::string_view name, std::string& out);
  void lines(std::string_view name, std::vector<std::string>& out, std::size_t most);
  void texts(std::string_view name, std::vector<std::string>& out, std::size_t most);
  void flag(std::string_view name, bool& out);
  void integer(std::string_view name, std::int64_t& out, std::int64_t least, std::int64_t most);
  // The items of a list; none where it is missing or no list.
  const std::vector<ValueRef>& list(std::string_view name, std::size_t most);
  // A map, whose keys are all different; nullptr where it is missing or no map.
  const Value* map(std::string_view name);
  // A value of any kind, null too; nullptr where it is missing.
  const Value* find(std::string_view name);
  // Fields that may be there and have no effect.
  void allow(std::initializer_list<std::string_view> names);
  void allow_all() { allows_all_ = true; }

  // Errors, all with their places: no map; unknown_field, with the nearest of the names that were
  // asked for, or all of them; else the first mistake.
  Result<void> end() const;

  // What is wrong with a field's value, or with the whole map, for what only the reader can judge.
  Error wrong(std::string_view name, std::string message) const;
  Error wrong(std::string message) const;

 private:
  std::optional<std::size_t> index_of(std::string_view name) const;
  Error wrong_at(std::size_t index, std::string message) const;
  const Value* filled(std::string_view name, Blank blank);
  template <class T>
  void take(std::string_view name, T& out, Result<T> (*read)(const Value&, std::string_view));
  template <class T>
  void take_all(std::string_view name, std::vector<T>& out, std::size_t most,
                Result<T> (*read)(const Value&, std::string_view));
  void keep(Error error);

  const Value& map_;
  std::string what_;
  Blank blank_;
  bool allows_all_ = false;
  std::vector<std::string> names_;  // that were asked for
  std::optional<Error> first_;
};

// One value; `what` is its name in messages. Errors: kInvalid bad_value.
Error wrong(const Value& at, std::string message);
Result<std::string> text_of(const Value& value, std::string_view what);
Result<std::string> line_of(const Value& value, std::string_view what);
Result<std::int64_t> integer_of(const Value& value, std::string_view what, std::int64_t least,
                                std::int64_t most);

// The error of the reader of one kind of file: its code, and its remedy behind a
// message that asks nothing.
Error coded(Error error, std::string code, std::string_view remedy = "");

}  // namespace dove::yaml
