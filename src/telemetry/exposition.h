// Exposition: metrics whose values are looked up when somebody asks, in Prometheus's text format.
//
// For what has series that come and go (devices, tasks); what is counted all along is in metrics.h.
// One thread.
#pragma once

#include <string>
#include <string_view>

#include "telemetry/metrics.h"

namespace dove::telemetry {

// `a="x",b="y"`, escaped as the format wants it.
std::string labels_text(const Labels& labels);

class Exposition {
 public:
  enum class Kind { kGauge, kCounter };

  // The family that add() adds to from now on. REQUIRES: a name comes once.
  void family(std::string_view name, Kind kind, std::string_view about);
  void add(const Labels& labels, double value);
  // The families that have a value.
  std::string text() const { return text_; }

 private:
  std::string name_;
  std::string head_;  // of the family, until its first value
  std::string text_;
};

}  // namespace dove::telemetry
