// YAML as a tree in which every value knows its line and column.
//
// read_yaml never throws and bounds what it makes: kDepthMax levels, kValuesMax values. Aliases
// share the value they name. One document per file. The tree is immutable and may be shared freely.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobfiles/source.h"

namespace dove::jobfiles {

constexpr int kDepthMax = 64;
constexpr std::size_t kValuesMax = 100'000;

struct Yaml {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;     // of a scalar
  bool quoted = false;  // a scalar in quotes or with a tag: it is text whatever it looks like
  int height = 0;       // levels below it, aliases followed
  Place place;
  std::vector<std::shared_ptr<const Yaml>> keys;    // of a map; keys are scalars
  std::vector<std::shared_ptr<const Yaml>> values;  // of a list or map, in the order of the file
};

using YamlRef = std::shared_ptr<const Yaml>;

// What YAML's reader says of brackets at the end of the file, said of the one that is never closed:
// its place and the remedy. None: all are closed.
std::optional<Error> unclosed_bracket(const std::string& file, std::string_view text);

// An empty file is a null.
Result<YamlRef> read_yaml(const std::string& file, const std::string& text);

}  // namespace dove::jobfiles
