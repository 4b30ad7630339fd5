#include "programs/device_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "devices/machine.h"

namespace dove::programs {
namespace {

struct XidClass {
  std::int64_t number;
  Severity severity;
  Remedy remedy;
  const char* about;
};

// NVIDIA's catalogue of XID errors, those that need more than the program's end. What is not here
// (13, 31, 43, 45 and others) is the program's own doing.
constexpr XidClass kXids[] = {
    {48, Severity::kCritical, Remedy::kReset, "double-bit memory error"},
    {62, Severity::kCritical, Remedy::kReset, "internal micro-controller halted"},
    {63, Severity::kWarning, Remedy::kReset, "a row of memory is to be remapped"},
    {64, Severity::kFault, Remedy::kReset, "a row of memory could not be remapped"},
    {74, Severity::kFault, Remedy::kReboot, "NVLink error"},
    {79, Severity::kCritical, Remedy::kReboot, "the device has fallen off the bus"},
    {92, Severity::kWarning, Remedy::kNone, "many single-bit memory errors"},
    {94, Severity::kFault, Remedy::kReset, "contained memory error"},
    {95, Severity::kCritical, Remedy::kReset, "uncontained memory error"},
    {119, Severity::kCritical, Remedy::kReboot, "the system processor does not answer"},
    {120, Severity::kCritical, Remedy::kReboot, "error of the system processor"},
    {140, Severity::kCritical, Remedy::kReset, "unrecovered memory error"},
};

void add_xids(const devices::DeviceSample& sample, std::int32_t device, std::vector<Finding>& out) {
  for (const std::int64_t number : sample.xids) {
    const auto* at = std::find_if(std::begin(kXids), std::end(kXids),
                                  [&](const XidClass& one) { return one.number == number; });
    if (at == std::end(kXids)) continue;
    out.push_back({fmt::format("xid_{}", number), at->severity, at->remedy, device,
                   fmt::format("XID {}: {}", number, at->about)});
  }
}

}  // namespace

std::vector<Finding> findings_of(const devices::Sighting& seen) {
  std::vector<Finding> found;
  const auto& devices = seen.inventory.devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const bool lost = devices[i].kind == devices::kLost;
    found.push_back({"device_there", lost ? Severity::kFault : Severity::kGood,
                     lost ? Remedy::kReboot : Remedy::kNone, id, lost ? "it is gone" : ""});
    const auto at = std::find_if(seen.samples.begin(), seen.samples.end(), [&](const auto& sample) {
      return sample.uuid == devices[i].uuid;
    });
    if (at == seen.samples.end()) continue;
    add_xids(*at, id, found);
    const double* failed = at->find(devices::Field::kRemapFailure);
    const bool broken = failed != nullptr && *failed > 0;
    found.push_back({"row_remap", broken ? Severity::kFault : Severity::kGood,
                     broken ? Remedy::kReplace : Remedy::kNone, id,
                     broken ? "a row of memory could not be remapped" : ""});
  }
  return found;
}

}  // namespace dove::programs
