// Readings: what an accelerator says of itself, under the names that NVIDIA's DCGM exporter gives
// them, so that dashboards made for it serve any vendor's devices.
//
// Names, kinds and units are those of dcgm-exporter's default-counters.csv. Plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dove::devices {

enum class Field : std::uint8_t {
  kSmClock,
  kMemoryClock,
  kMemoryTemperature,
  kTemperature,
  kPower,
  kEnergy,
  kPcieReplays,
  kUtilization,
  kMemoryUtilization,
  kEncoderUtilization,
  kDecoderUtilization,
  kXid,
  kMemoryFree,
  kMemoryUsed,
  kMemoryReserved,
  kNvlinkBytes,
  kVgpuLicense,
  kRemappedUncorrectable,
  kRemappedCorrectable,
  kRemapFailure,
  kRemapPending,
  kEccSingleVolatile,
  kEccDoubleVolatile,
  kPowerViolation,
  kThermalViolation,
  kPcieSent,
  kPcieReceived,
  kEngineActive,
  kTensorActive,
  kMemoryActive,
};

struct FieldInfo {
  Field field = Field::kSmClock;
  std::string_view name;    // "DCGM_FI_DEV_GPU_UTIL"
  bool is_counter = false;  // otherwise a gauge
  std::string_view about;   // with the unit of its values
};

// One of each Field, in their order.
std::span<const FieldInfo> field_infos();

// What one device said, a moment ago. A field that it does not know is not there.
struct DeviceSample {
  std::string uuid;
  std::string pci_bus_id;      // "0000:18:00.0"; "" when unknown
  std::string model;           // as the vendor writes it: "NVIDIA H100 80GB HBM3"
  std::string driver_version;  // "" when unknown
  std::vector<std::pair<Field, double>> values;
  std::vector<std::int64_t> xids;  // NVIDIA's error numbers that came since the last sample
  const double* find(Field field) const;
};

}  // namespace dove::devices
