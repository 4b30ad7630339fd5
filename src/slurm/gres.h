// Slurm's notation of generic resources (GRES), as far as they name GPUs.
//
// Pure. Resources of other names are ignored.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::slurm {

inline constexpr int kDevicesMax = 1024;  // of a node

// A node's "gpu:h200_0:1,gpu:h200_1:1(S:0-1)": the type of each device by its index, in the order
// of the text. kInvalid when it is malformed or has more than kDevicesMax.
Result<std::vector<std::string>> device_types(std::string_view gres);

// Whether the text binds devices to sockets: "(S:0-1)".
bool binds_devices(std::string_view gres);

// A job's "gpu:h200_0:1(IDX:0),gpu:h200_1:0(IDX:)" on a node: the indices, ascending. None when it
// has devices without indices (GRES without files), or is malformed.
std::optional<std::vector<int>> device_indices(std::string_view detail);

// The request that can be met by exactly these devices alone: "gpu:h200_2:1". kInvalid when the
// node's types cannot tell them from its other devices; the message says how to change gres.conf.
Result<std::string> pinned_gres(const std::vector<std::string>& types,
                                const std::vector<int>& devices);

// "0-2,7": 0, 1, 2, 7. None when malformed, or over kDevicesMax of them.
std::optional<std::vector<int>> read_index_list(std::string_view list);

}  // namespace dove::slurm
