// YAML, and so JSON, as a tree in which every value knows its line and column.
//
// Nothing here throws, and what is made is bounded: kDepthMax levels, and what Limits say. Aliases
// share the value that they name. Errors begin with their place and have it as Error::field. The
// tree is immutable and may be shared freely. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/place.h"

namespace dove::yaml {

constexpr int kDepthMax = 64;
constexpr std::size_t kValuesMax = 100'000;

struct Value {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;        // of a scalar
  bool quoted = false;     // a scalar in quotes or with a tag: it is text whatever it looks like
  int height = 0;          // levels below it, aliases followed
  std::size_t weight = 1;  // values of which it is made, itself counted, aliases followed
  text::Place place;
  std::vector<std::shared_ptr<const Value>> keys;    // of a map; keys are scalars or nulls
  std::vector<std::shared_ptr<const Value>> values;  // of a list or map, in the order of the file
};

using ValueRef = std::shared_ptr<const Value>;

struct Limits {
  std::size_t bytes_max = 4 << 20;
  std::size_t values_max = kValuesMax;
  // A value counts wherever an alias names it. Without, a reader of all values has to count them.
  bool counts_aliases = true;
};

// The one document of a file. `one` is what a file holds one of, for messages. An empty file is a
// null. Errors: kInvalid bad_yaml, kTooLarge too_large.
Result<ValueRef> read(const std::string& file, const std::string& text, const Limits& limits = {},
                      std::string_view one = "document");

// All documents of a file. The limits hold for all of them together. Errors: as read().
Result<std::vector<ValueRef>> read_documents(const std::string& file, const std::string& text,
                                             const Limits& limits);

}  // namespace dove::yaml
