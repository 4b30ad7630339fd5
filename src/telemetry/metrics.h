// Counters, gauges and histograms, rendered in the text format of Prometheus.
//
// Registering takes a lock and belongs in constructors; counting is one relaxed atomic. References
// stay valid as long as their Metrics; asking again with the same name and labels gives the same
// one. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dove::telemetry {

class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Bucket i counts values of at most 2^i; the last one counts the rest.
class Histogram {
 public:
  static constexpr int kBuckets = 33;

  // Negative values count as 0.
  void observe(std::int64_t value);
  std::uint64_t count() const;
  // The upper bound of the bucket that holds the given share of all values, 0 when there is none.
  // `thousandths`: 500 is the median.
  std::int64_t quantile(int thousandths) const;

 private:
  friend class Metrics;
  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
  std::atomic<std::int64_t> sum_{0};
};

// What a histogram's values are: durations are observed in microseconds and rendered in seconds,
// as the name ("…_seconds") says.
enum class Unit { kMicroseconds, kPlain };

using Labels = std::vector<std::pair<std::string, std::string>>;

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // REQUIRES: a name is used for one kind only.
  Counter& counter(std::string_view name, std::string_view about, const Labels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view about, const Labels& labels = {});
  Histogram& histogram(std::string_view name, std::string_view about, const Labels& labels = {},
                       Unit unit = Unit::kMicroseconds);

  // All of them, ordered by name and labels.
  std::string render() const;

 private:
  struct Registry;
  std::unique_ptr<Registry> registry_;
};

// The metrics of this process.
Metrics& metrics();

}  // namespace dove::telemetry
