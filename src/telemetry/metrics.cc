#include "telemetry/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <variant>

#include "base/check.h"
#include "telemetry/exposition.h"

namespace dove::telemetry {
namespace {

struct HistogramEntry {
  std::unique_ptr<Histogram> histogram;
  Unit unit = Unit::kPlain;
};
using Instrument = std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>, HistogramEntry>;

struct Family {
  std::string about;
  std::string_view kind;
  std::map<std::string, Instrument> by_labels;  // key: `a="x",b="y"`
};

std::string bound_text(std::int64_t bound, Unit unit) {
  return unit == Unit::kPlain ? fmt::to_string(bound)
                              : fmt::format("{}.{:06}", bound / 1'000'000, bound % 1'000'000);
}

std::string braced(const std::string& labels) {
  return labels.empty() ? std::string() : '{' + labels + '}';
}

}  // namespace

struct Metrics::Registry {
  mutable std::mutex mutex;
  std::map<std::string, Family, std::less<>> families;

  // The instrument of that name and those labels, empty when it is new.
  Instrument& at(std::string_view name, std::string_view about, std::string_view kind,
                 const Labels& labels) {
    Family& family = families.try_emplace(std::string(name)).first->second;
    CHECK(family.kind.empty() || family.kind == kind, "a metric's name is used for one kind only");
    family.about = about;
    family.kind = kind;
    return family.by_labels[labels_text(labels)];
  }
};

void Histogram::observe(std::int64_t value) {
  const std::uint64_t clamped = value > 0 ? static_cast<std::uint64_t>(value) : 0;
  const int bucket = clamped <= 1 ? 0 : static_cast<int>(std::bit_width(clamped - 1));
  buckets_[static_cast<std::size_t>(std::min(bucket, kBuckets - 1))].fetch_add(
      1, std::memory_order_relaxed);
  sum_.fetch_add(static_cast<std::int64_t>(clamped), std::memory_order_relaxed);
}

std::uint64_t Histogram::count() const {
  std::uint64_t all = 0;
  for (const auto& bucket : buckets_) all += bucket.load(std::memory_order_relaxed);
  return all;
}

std::int64_t Histogram::quantile(int thousandths) const {
  const std::uint64_t all = count();
  if (all == 0) return 0;
  const std::uint64_t wanted =
      std::max<std::uint64_t>(1, (all * static_cast<std::uint64_t>(thousandths) + 999) / 1000);
  std::uint64_t seen = 0;
  for (int i = 0; i < kBuckets; ++i) {
    seen += buckets_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
    if (seen >= wanted) return std::int64_t{1} << i;
  }
  return std::int64_t{1} << (kBuckets - 1);
}

Metrics::Metrics() : registry_(std::make_unique<Registry>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(std::string_view name, std::string_view about, const Labels& labels) {
  const std::lock_guard lock(registry_->mutex);
  Instrument& instrument = registry_->at(name, about, "counter", labels);
  auto& slot = std::get<0>(instrument);
  if (!slot) slot = std::make_unique<Counter>();
  return *slot;
}

Gauge& Metrics::gauge(std::string_view name, std::string_view about, const Labels& labels) {
  const std::lock_guard lock(registry_->mutex);
  Instrument& instrument = registry_->at(name, about, "gauge", labels);
  if (instrument.index() != 1) instrument = std::make_unique<Gauge>();
  return *std::get<1>(instrument);
}

Histogram& Metrics::histogram(std::string_view name, std::string_view about, const Labels& labels,
                              Unit unit) {
  const std::lock_guard lock(registry_->mutex);
  Instrument& instrument = registry_->at(name, about, "histogram", labels);
  if (instrument.index() != 2) instrument = HistogramEntry{std::make_unique<Histogram>(), unit};
  return *std::get<2>(instrument).histogram;
}

std::string Metrics::render() const {
  const std::lock_guard lock(registry_->mutex);
  std::string text;
  const auto out = std::back_inserter(text);
  const auto render_histogram = [&](const std::string& name, const std::string& labels,
                                    const HistogramEntry& entry) {
    const std::string comma = labels.empty() ? "" : labels + ',';
    std::uint64_t seen = 0;
    for (int i = 0; i < Histogram::kBuckets - 1; ++i) {
      seen +=
          entry.histogram->buckets_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
      fmt::format_to(out, "{}_bucket{{{}le=\"{}\"}} {}\n", name, comma,
                     bound_text(std::int64_t{1} << i, entry.unit), seen);
    }
    seen += entry.histogram->buckets_.back().load(std::memory_order_relaxed);
    fmt::format_to(out, "{}_bucket{{{}le=\"+Inf\"}} {}\n", name, comma, seen);
    fmt::format_to(out, "{}_sum{} {}\n", name, braced(labels),
                   bound_text(entry.histogram->sum_.load(std::memory_order_relaxed), entry.unit));
    fmt::format_to(out, "{}_count{} {}\n", name, braced(labels), seen);
  };
  for (const auto& [name, family] : registry_->families) {
    fmt::format_to(out, "# HELP {} {}\n# TYPE {} {}\n", name, family.about, name, family.kind);
    for (const auto& [labels, instrument] : family.by_labels) {
      if (const auto* counter = std::get_if<std::unique_ptr<Counter>>(&instrument)) {
        fmt::format_to(out, "{}{} {}\n", name, braced(labels), (*counter)->value());
      } else if (const auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&instrument)) {
        fmt::format_to(out, "{}{} {}\n", name, braced(labels), (*gauge)->value());
      } else {
        render_histogram(name, labels, std::get<HistogramEntry>(instrument));
      }
    }
  }
  return text;
}

Metrics& metrics() {
  static Metrics* const kept = new Metrics;  // outlives every thread that counts at exit
  return *kept;
}

}  // namespace dove::telemetry
