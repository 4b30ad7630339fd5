#include "telemetry/exposition.h"

#include <fmt/format.h>

namespace dove::telemetry {

std::string labels_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (!text.empty()) text += ',';
    text += name;
    text += "=\"";
    for (char c : value) {
      if (c == '\\' || c == '"') text += '\\';
      if (c == '\n') {
        text += "\\n";
      } else {
        text += c;
      }
    }
    text += '"';
  }
  return text;
}

void Exposition::family(std::string_view name, Kind kind, std::string_view about) {
  name_ = name;
  head_ = fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, about, name,
                      kind == Kind::kCounter ? "counter" : "gauge");
}

void Exposition::add(const Labels& labels, double value) {
  text_ += head_;
  head_.clear();
  const std::string inside = labels_text(labels);
  text_ += inside.empty() ? fmt::format("{} {}\n", name_, value)
                          : fmt::format("{}{{{}}} {}\n", name_, inside, value);
}

}  // namespace dove::telemetry
