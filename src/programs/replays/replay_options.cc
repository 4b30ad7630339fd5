#include "programs/replays/replay_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <vector>

#include "model/new_cluster.h"
#include "policies/standard.h"

namespace dove::programs {
namespace {

constexpr std::string_view kPlain = "plain";

Error usage(std::string option, const std::string& message) {
  return {ErrorKind::kInvalid, "usage", fmt::format("--{}: {}", option, message), option};
}

}  // namespace

sim::LiveScheduler live_scheduler(const cli::Invocation& invocation) {
  const std::string name = invocation.get("policy");
  const ClusterSettings standard = new_cluster_settings();
  return {policies::standard_policies(), with_scheduling(standard, name).value_or(standard)};
}

bool is_live(const cli::Invocation& invocation) {
  const std::string name = invocation.get("policy");
  return name == "default" || name == kPlain;
}

std::string order_names() {
  std::string names;
  for (const sim::NamedOrder& it : sim::job_orders()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", it.name);
  }
  return names;
}

Result<void> require_options(const cli::Invocation& invocation,
                             std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!invocation.has(name)) return usage(name, "it is missing; give one");
  }
  return {};
}

Result<sim::NamedOrder> order_option(const cli::Invocation& invocation) {
  const std::string name = invocation.get("policy");
  for (const sim::NamedOrder& it : sim::job_orders()) {
    if (it.name == name) return it;
  }
  return usage("policy", fmt::format("there is no '{}'; known are {}, {}", name, kLivePolicies,
                                     order_names()));
}

Result<bool> json_option(const cli::Invocation& invocation) {
  const std::string format = invocation.get("output", "text");
  if (format == "json") return true;
  if (format == "text") return false;
  return usage("output", fmt::format("'{}' is neither text nor json", format));
}

Result<std::int64_t> count_option(const cli::Invocation& invocation, const std::string& name,
                                  std::int64_t otherwise) {
  const std::string text = invocation.get(name);
  if (!invocation.has(name)) return otherwise;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > 1'000'000) {
    return usage(name, fmt::format("'{}' is not a count from 1 to 1000000", text));
  }
  return count;
}

int exit_of(const char* command, const Result<int>& result) {
  if (result.ok()) return *result;
  fmt::print(stderr, "dove {}: {}\n", command, result.error().message);
  return cli::exit_code(result.error());
}

}  // namespace dove::programs
