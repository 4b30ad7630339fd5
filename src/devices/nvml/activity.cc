#include "devices/nvml/activity.h"

#include <array>
#include <utility>

namespace dove::devices::nvml {
namespace {

constexpr unsigned kVersion = 1;  // of both structs

struct Counter {
  unsigned metric;
  Field field;
};
constexpr std::array kCounters = {Counter{1, Field::kEngineActive},    // GRAPHICS_UTIL
                                  Counter{5, Field::kTensorActive},    // ANY_TENSOR_UTIL
                                  Counter{10, Field::kMemoryActive}};  // DRAM_BW_UTIL

}  // namespace

Activity::Activity(const Library& library)
    : call_(library.call()), metrics_(std::make_unique<GpmMetrics>()) {}

Activity::~Activity() {
  for (auto& [uuid, looks] : looks_) end(looks);
}

void Activity::begin(Looks& looks, Handle gpu) const {
  looks.gpu = gpu;
  if (call_.gpm_support == nullptr || call_.gpm_alloc == nullptr || call_.gpm_free == nullptr ||
      call_.gpm_sample == nullptr || call_.gpm_metrics == nullptr) {
    return;
  }
  GpmSupport support{kVersion, 0};
  if (call_.gpm_support(gpu, &support) != kSuccess || support.is_supported == 0) return;
  if (call_.gpm_alloc(&looks.last) != kSuccess) looks.last = nullptr;
  if (call_.gpm_alloc(&looks.spare) != kSuccess) looks.spare = nullptr;
  const bool ready = looks.last != nullptr && looks.spare != nullptr &&
                     call_.gpm_sample(gpu, looks.last) == kSuccess;
  if (!ready) end(looks);
}

void Activity::end(Looks& looks) const {
  if (looks.last != nullptr) call_.gpm_free(looks.last);
  if (looks.spare != nullptr) call_.gpm_free(looks.spare);
  looks.last = looks.spare = nullptr;
}

void Activity::read(const std::string& uuid, Handle gpu, DeviceSample& sample) {
  Looks& looks = looks_[uuid];
  if (looks.gpu != gpu) {  // new, or the driver has found it anew
    end(looks);
    begin(looks, gpu);
    return;
  }
  if (looks.last == nullptr) return;
  if (call_.gpm_sample(gpu, looks.spare) != kSuccess) return;
  *metrics_ = {};
  metrics_->version = kVersion;
  metrics_->count = kCounters.size();
  metrics_->first = looks.last;
  metrics_->second = looks.spare;
  for (std::size_t i = 0; i < kCounters.size(); ++i) metrics_->metrics[i].id = kCounters[i].metric;
  if (call_.gpm_metrics(metrics_.get()) == kSuccess) {
    for (std::size_t i = 0; i < kCounters.size(); ++i) {
      const GpmMetric& metric = metrics_->metrics[i];
      if (metric.status == kSuccess) {
        sample.values.emplace_back(kCounters[i].field, metric.value / 100);
      }
    }
  }
  std::swap(looks.last, looks.spare);
}

}  // namespace dove::devices::nvml
