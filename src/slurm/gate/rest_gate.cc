#include "slurm/gate/rest_gate.h"

#include <charconv>
#include <optional>

namespace dove::slurm {
namespace {

// None: it is a task of an array.
std::optional<std::int64_t> number_of(const std::string& handle) {
  std::int64_t job = 0;
  const auto end = std::from_chars(handle.data(), handle.data() + handle.size(), job);
  const bool is_all = end.ec == std::errc() && end.ptr == handle.data() + handle.size();
  return is_all ? std::optional(job) : std::nullopt;
}

}  // namespace

Result<void> RestGate::place(const std::string& handle, const GatePlacing& placing) {
  return commands_.place(handle, placing);
}

Result<void> RestGate::let_go(const std::string& handle) {
  const auto job = number_of(handle);
  return job ? api_.release(*job, kGate_priority) : commands_.let_go(handle);
}

Result<void> RestGate::put_back(const std::string& handle, const GatePutBack& one) {
  const auto job = number_of(handle);
  const bool only_ends = !one.waits && !one.may_requeue;
  return job && only_ends ? api_.cancel(*job) : commands_.put_back(handle, one);
}

Result<void> RestGate::say(const std::string& handle, const std::string& words) {
  const auto job = number_of(handle);
  return job ? api_.set_comment(*job, words) : commands_.say(handle, words);
}

Result<void> RestGate::mark(const std::string& handle, const std::string& text) {
  return commands_.mark(handle, text);
}

}  // namespace dove::slurm
