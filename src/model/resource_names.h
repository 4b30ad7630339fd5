// How limits, guarantees, usage and messages name GPUs of one model and slices of one profile.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dove {

// Reason::resource of a limit by model: this, then the model's key.
constexpr std::string_view kByModel = "gpus_milli:";
// The countable that limits, guarantees and usage name slices by: this, then the profile.
constexpr std::string_view kBySlice = "slice:";

// The model as limits and usage name it: in lower case.
std::string model_key(std::string_view model);

// As a countable is named: in lower case, with "-" for characters that no countable has.
std::string countable_name(std::string_view text);
// The countable of the cluster that counts Slurm's licence: "licence:matlab" for "Matlab".
std::string licence_name(std::string_view slurms);

// "1g.10gb" for "1g.10gb", "mig-1g.10gb", "nvidia.com/mig-1g.10gb", in any case; none for what is
// not the name of a slice.
std::optional<std::string> slice_name(std::string_view text);

}  // namespace dove
