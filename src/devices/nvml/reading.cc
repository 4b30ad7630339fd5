#include "devices/nvml/reading.h"

#include <array>

namespace dove::devices::nvml {
namespace {

constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2u << 24;
constexpr unsigned kSmClock = 1;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kPowerPolicy = 0;
constexpr unsigned kThermalPolicy = 1;
constexpr unsigned kCorrected = 0;
constexpr unsigned kUncorrected = 1;
constexpr unsigned kVolatile = 0;
constexpr unsigned kPcieSent = 0;
constexpr unsigned kPcieReceived = 1;
constexpr unsigned kFieldMemoryTemperature = 82;
constexpr unsigned kFieldNvlinkSent = 138;  // KiB of data
constexpr unsigned kFieldNvlinkReceived = 139;
constexpr unsigned kAllLinks = 0xffff'ffff;
constexpr double kMiB = 1024.0 * 1024.0;

class Reader {
 public:
  Reader(const Library& library, Handle gpu, DeviceSample& sample)
      : call_(library.call()), gpu_(gpu), sample_(sample) {}

  // A field that is one call with one number.
  template <class Number, class Get, class... Where>
  void one(Field field, Get* get, double scale, Where... where) {
    Number number{};
    if (get != nullptr && get(gpu_, where..., &number) == kSuccess) {
      add(field, static_cast<double>(number) * scale);
    }
  }

  bool memory() {
    Memory memory{};
    MemoryV2 with_reserved{};
    with_reserved.version = kMemoryV2;
    if (call_.memory_v2 != nullptr && call_.memory_v2(gpu_, &with_reserved) == kSuccess) {
      add(Field::kMemoryFree, static_cast<double>(with_reserved.free) / kMiB);
      add(Field::kMemoryUsed, static_cast<double>(with_reserved.used) / kMiB);
      add(Field::kMemoryReserved, static_cast<double>(with_reserved.reserved) / kMiB);
      return true;
    }
    if (call_.memory(gpu_, &memory) != kSuccess) return false;
    add(Field::kMemoryFree, static_cast<double>(memory.free) / kMiB);
    add(Field::kMemoryUsed, static_cast<double>(memory.used) / kMiB);
    return true;
  }

  void use() {
    Utilization now{};
    if (call_.utilization != nullptr && call_.utilization(gpu_, &now) == kSuccess) {
      add(Field::kUtilization, now.gpu);
      add(Field::kMemoryUtilization, now.memory);
    }
    unsigned per_cent = 0;
    unsigned period_us = 0;
    if (call_.encoder != nullptr && call_.encoder(gpu_, &per_cent, &period_us) == kSuccess) {
      add(Field::kEncoderUtilization, per_cent);
    }
    if (call_.decoder != nullptr && call_.decoder(gpu_, &per_cent, &period_us) == kSuccess) {
      add(Field::kDecoderUtilization, per_cent);
    }
  }

  void faults() {
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (call_.remapped_rows != nullptr &&
        call_.remapped_rows(gpu_, &corrected, &uncorrected, &pending, &failed) == kSuccess) {
      add(Field::kRemappedCorrectable, corrected);
      add(Field::kRemappedUncorrectable, uncorrected);
      add(Field::kRemapPending, pending);
      add(Field::kRemapFailure, failed);
    }
    slowed(Field::kPowerViolation, kPowerPolicy);
    slowed(Field::kThermalViolation, kThermalPolicy);
  }

  void fields() {
    if (call_.fields == nullptr) return;
    std::array<FieldValue, 3> asked{};
    asked[0].id = kFieldMemoryTemperature;
    asked[1].id = kFieldNvlinkSent;
    asked[2].id = kFieldNvlinkReceived;
    asked[1].scope = asked[2].scope = kAllLinks;
    if (call_.fields(gpu_, static_cast<int>(asked.size()), asked.data()) != kSuccess) return;
    if (asked[0].status == kSuccess) add(Field::kMemoryTemperature, number(asked[0]));
    if (asked[1].status == kSuccess && asked[2].status == kSuccess) {
      add(Field::kNvlinkBytes, (number(asked[1]) + number(asked[2])) * 1024);
    }
  }

  void license() {
    LicensableFeatures features{};
    if (call_.licenses == nullptr || call_.licenses(gpu_, &features) != kSuccess) return;
    bool licensed = false;
    for (unsigned i = 0; i < features.count && i < 3; ++i) {
      licensed = licensed || features.features[i].state != 0;
    }
    add(Field::kVgpuLicense, licensed ? 1 : 0);
  }

 private:
  void add(Field field, double value) { sample_.values.emplace_back(field, value); }

  void slowed(Field field, unsigned policy) {
    ViolationTime time{};
    if (call_.violation != nullptr && call_.violation(gpu_, policy, &time) == kSuccess) {
      add(field, static_cast<double>(time.slowed_ns));
    }
  }

  static double number(const FieldValue& field) {
    switch (field.type) {
      case 0:
        return field.value.real;
      case 1:
        return field.value.whole;
      case 2:
      case 3:
        return static_cast<double>(field.value.whole_64);
      default:
        return static_cast<double>(field.value.signed_64);
    }
  }

  const Calls& call_;
  Handle gpu_;
  DeviceSample& sample_;
};

}  // namespace

bool read_values(const Library& library, Handle gpu, DeviceSample& sample) {
  const Calls& call = library.call();
  Reader read(library, gpu, sample);
  if (!read.memory()) return false;
  read.use();
  read.one<unsigned>(Field::kSmClock, call.clock, 1, kSmClock);
  read.one<unsigned>(Field::kMemoryClock, call.clock, 1, kMemoryClock);
  read.one<unsigned>(Field::kTemperature, call.temperature, 1, 0u);
  read.one<unsigned>(Field::kPower, call.power, 0.001);
  read.one<unsigned long long>(Field::kEnergy, call.energy, 1);
  read.one<unsigned>(Field::kPcieReplays, call.pcie_replays, 1);
  read.one<unsigned>(Field::kPcieSent, call.pcie_throughput, 1024, kPcieSent);
  read.one<unsigned>(Field::kPcieReceived, call.pcie_throughput, 1024, kPcieReceived);
  read.one<unsigned long long>(Field::kEccSingleVolatile, call.ecc_errors, 1, kCorrected,
                               kVolatile);
  read.one<unsigned long long>(Field::kEccDoubleVolatile, call.ecc_errors, 1, kUncorrected,
                               kVolatile);
  read.faults();
  read.fields();
  read.license();
  return true;
}

}  // namespace dove::devices::nvml
