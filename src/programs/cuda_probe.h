// What `dove probe` has GPUs do through CUDA's driver: take a little memory, fill it, and give back
// what it was filled with.
#pragma once

#include <string>

namespace dove::programs {

// Tries the devices that CUDA shows this process, `expected` at least. "": all work, or the machine
// has no libcuda.so.1; else which device does not, and what it did. Blocks for as long as the
// driver does; nothing else in this process may use CUDA.
std::string try_cuda(int expected);

}  // namespace dove::programs
