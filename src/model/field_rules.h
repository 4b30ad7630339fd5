// What a field may hold, as the lists of fields say it (model/job_fields.h, model/exec_fields.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dove {

// What a text may be. Text is always valid UTF-8 without NUL.
struct TextRule {
  std::size_t bytes_max = 1024;
  enum class Kind {
    kAny,   // line ends and all
    kLine,  // no control characters
    kName,  // a line, not empty, no spaces around, printable
    kPath,  // a line that does not leave its base by ".."; may be empty
    kEnvironmentName,
    kCountableName,  // [a-z][a-z0-9_.:/-]*, "hugepages-2Mi"
    kSha256,         // 64 hex digits, or empty
    kFeature,        // a name of its own: without "|"
    kFeatures,       // one, or several joined by "|"
  } kind = Kind::kLine;
};

constexpr TextRule kNameRule{256, TextRule::Kind::kName};
constexpr TextRule kLineRule{1024, TextRule::Kind::kLine};
constexpr TextRule kPathRule{4096, TextRule::Kind::kPath};

namespace field {

struct Plain {};  // the type says it all
struct Shown {};  // people see it, and nobody submits it
struct Kept {};   // nobody sees it
struct Text {
  TextRule rule = kLineRule;
};
struct Texts {
  TextRule rule;
  std::size_t count_max = 0;
};
struct TextMap {
  TextRule key;
  TextRule value;
  std::size_t count_max = 0;
};
struct Within {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
struct Bytes {};  // an amount of memory
struct Signal {
  std::int64_t min = 0;  // 1: it cannot be "none"
};

}  // namespace field
}  // namespace dove
