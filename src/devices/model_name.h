// The short name of a model, by which jobs ask for it.
#pragma once

#include <string>
#include <string_view>

namespace dove::devices {

// "H100" of "NVIDIA H100 80GB HBM3", "A100" of "NVIDIA A100-SXM4-40GB", "RTX4090" of "NVIDIA
// GeForce RTX 4090", "MI250X" of "AMD Instinct MI250X". Memory is asked for by its size, not by a
// name.
std::string short_model(std::string_view name);

}  // namespace dove::devices
