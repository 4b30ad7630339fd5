#include "devices/readings.h"

#include <algorithm>
#include <array>

namespace dove::devices {
namespace {

constexpr std::array<FieldInfo, 30> kFields = {{
    {Field::kSmClock, "DCGM_FI_DEV_SM_CLOCK", false, "Clock of the processors, in MHz."},
    {Field::kMemoryClock, "DCGM_FI_DEV_MEM_CLOCK", false, "Clock of the memory, in MHz."},
    {Field::kMemoryTemperature, "DCGM_FI_DEV_MEMORY_TEMP", false, "Memory temperature, in C."},
    {Field::kTemperature, "DCGM_FI_DEV_GPU_TEMP", false, "Device temperature, in C."},
    {Field::kPower, "DCGM_FI_DEV_POWER_USAGE", false, "Power draw, in W."},
    {Field::kEnergy, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", true,
     "Energy taken since the driver was loaded, in mJ."},
    {Field::kPcieReplays, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", true, "Retries on PCIe."},
    {Field::kUtilization, "DCGM_FI_DEV_GPU_UTIL", false, "Time with work on the device, in %."},
    {Field::kMemoryUtilization, "DCGM_FI_DEV_MEM_COPY_UTIL", false,
     "Time with traffic on the memory, in %."},
    {Field::kEncoderUtilization, "DCGM_FI_DEV_ENC_UTIL", false, "Encoder utilization, in %."},
    {Field::kDecoderUtilization, "DCGM_FI_DEV_DEC_UTIL", false, "Decoder utilization, in %."},
    {Field::kXid, "DCGM_FI_DEV_XID_ERRORS", false, "Number of the last XID error; 0: none yet."},
    {Field::kMemoryFree, "DCGM_FI_DEV_FB_FREE", false, "Device memory free, in MiB."},
    {Field::kMemoryUsed, "DCGM_FI_DEV_FB_USED", false, "Device memory used, in MiB."},
    {Field::kMemoryReserved, "DCGM_FI_DEV_FB_RESERVED", false,
     "Device memory kept by the driver, in MiB."},
    {Field::kNvlinkBytes, "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", true,
     "Bytes sent and received on all NVLinks."},
    {Field::kVgpuLicense, "DCGM_FI_DEV_VGPU_LICENSE_STATUS", false, "1: there is a vGPU license."},
    {Field::kRemappedUncorrectable, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", true,
     "Memory rows remapped for uncorrectable errors."},
    {Field::kRemappedCorrectable, "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", true,
     "Memory rows remapped for correctable errors."},
    {Field::kRemapFailure, "DCGM_FI_DEV_ROW_REMAP_FAILURE", false,
     "1: a memory row could not be remapped."},
    {Field::kRemapPending, "DCGM_FI_DEV_ROW_REMAP_PENDING", false,
     "1: a memory row is remapped at the next reset."},
    {Field::kEccSingleVolatile, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", true,
     "Corrected ECC errors since the driver was loaded."},
    {Field::kEccDoubleVolatile, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", true,
     "Uncorrected ECC errors since the driver was loaded."},
    {Field::kPowerViolation, "DCGM_FI_DEV_POWER_VIOLATION", true,
     "Time slowed down to keep the power limit, in ns."},
    {Field::kThermalViolation, "DCGM_FI_DEV_THERMAL_VIOLATION", true,
     "Time slowed down to keep cool, in ns."},
    {Field::kPcieSent, "DCGM_FI_PROF_PCIE_TX_BYTES", false, "Bytes sent on PCIe a second."},
    {Field::kPcieReceived, "DCGM_FI_PROF_PCIE_RX_BYTES", false, "Bytes received on PCIe a second."},
    {Field::kEngineActive, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", false,
     "Part of the time in which the device computed, 0 to 1."},
    {Field::kTensorActive, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", false,
     "Part of the time in which its tensor units computed, 0 to 1."},
    {Field::kMemoryActive, "DCGM_FI_PROF_DRAM_ACTIVE", false,
     "Part of its memory's bandwidth that was used, 0 to 1."},
}};

}  // namespace

std::span<const FieldInfo> field_infos() { return kFields; }

const double* DeviceSample::find(Field field) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [field](const auto& value) { return value.first == field; });
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace dove::devices
