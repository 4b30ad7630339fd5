// What the replays of traces under an order of jobs read from their command lines alike.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "policies/orders.h"

namespace dove::programs {

// "default, drf, fifo, ..."
std::string order_names();

Result<void> require_options(const cli::Invocation& invocation,
                             std::initializer_list<const char*> names);
// --policy; an unknown one is an error that lists the known ones.
Result<policies::NamedOrder> order_option(const cli::Invocation& invocation);
// -o json or -o text (without it: text).
Result<bool> json_option(const cli::Invocation& invocation);
// A whole number from 1 to a million.
Result<std::int64_t> count_option(const cli::Invocation& invocation, const std::string& name,
                                  std::int64_t otherwise);

// The result's code, or its error on stderr and the code of that.
int exit_of(const char* command, const Result<int>& result);

}  // namespace dove::programs
