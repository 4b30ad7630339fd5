// Counts for each node as Slurm writes them: "2(x3),1" of 2, 2, 2, 1. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dove::text {

std::string fold_counts(const std::vector<std::int32_t>& counts);

// Empty: it is none, or stands for more than 100,000.
std::vector<std::int32_t> expand_counts(std::string_view text);

}  // namespace dove::text
