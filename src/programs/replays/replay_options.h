// What the replays of traces read from their command lines alike.
//
// --policy is `default`, which runs the live scheduler under the settings of a new cluster,
// `plain`, which runs it with FIFO and best fit, or the name of a published scheduler
// (src/sim/published).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command.h"
#include "sim/live/live_trace.h"
#include "sim/published/orders.h"

namespace dove::programs {

// The live scheduler, under the settings that --policy names.
constexpr std::string_view kLivePolicies = "default, plain";
sim::LiveScheduler live_scheduler(const cli::Invocation& invocation);
bool is_live(const cli::Invocation& invocation);

// "drf, fifo, ...": of published orders.
std::string order_names();

Result<void> require_options(const cli::Invocation& invocation,
                             std::initializer_list<const char*> names);
// --policy; an unknown one is an error that lists the known ones.
Result<sim::NamedOrder> order_option(const cli::Invocation& invocation);
// -o json or -o text (without it: text).
Result<bool> json_option(const cli::Invocation& invocation);
// A whole number from 1 to a million.
Result<std::int64_t> count_option(const cli::Invocation& invocation, const std::string& name,
                                  std::int64_t otherwise);

// The result's code, or its error on stderr and the code of that.
int exit_of(const char* command, const Result<int>& result);

}  // namespace dove::programs
