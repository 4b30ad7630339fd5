#include "programs/cuda_probe.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace dove::programs {
namespace {

constexpr std::size_t kBytes = std::size_t{16} << 20;
constexpr std::array<unsigned char, 2> kPatterns = {0x55, 0xAA};

// The driver interface, as far as it is used here; functions stand under their names of CUDA 12.
struct Cuda {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*begin)(void**, unsigned, int) = nullptr;
  int (*end)(void*) = nullptr;
  int (*take)(unsigned long long*, std::size_t) = nullptr;
  int (*give)(unsigned long long) = nullptr;
  int (*fill)(unsigned long long, unsigned char, std::size_t) = nullptr;
  int (*read)(void*, unsigned long long, std::size_t) = nullptr;
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Cuda& cuda) {
  return find(library, "cuInit", cuda.init) && find(library, "cuDeviceGetCount", cuda.count) &&
         find(library, "cuDeviceGet", cuda.device) && find(library, "cuCtxCreate_v2", cuda.begin) &&
         find(library, "cuCtxDestroy_v2", cuda.end) && find(library, "cuMemAlloc_v2", cuda.take) &&
         find(library, "cuMemFree_v2", cuda.give) && find(library, "cuMemsetD8_v2", cuda.fill) &&
         find(library, "cuMemcpyDtoH_v2", cuda.read);
}

// What happens in a context of the device that is there for it.
std::string fill_and_read(const Cuda& cuda) {
  unsigned long long memory = 0;
  if (const int result = cuda.take(&memory, kBytes); result != 0) {
    return fmt::format("gives no {} MiB of memory (CUDA's error {})", kBytes >> 20, result);
  }
  std::string trouble;
  std::vector<unsigned char> bytes(kBytes);
  for (const unsigned char pattern : kPatterns) {
    int result = cuda.fill(memory, pattern, kBytes);
    if (result == 0) result = cuda.read(bytes.data(), memory, kBytes);
    const auto wrong = std::find_if(bytes.begin(), bytes.end(),
                                    [&](unsigned char byte) { return byte != pattern; });
    if (result != 0) {
      trouble = fmt::format("did not fill its memory (CUDA's error {})", result);
    } else if (wrong != bytes.end()) {
      trouble = fmt::format("was filled with {:#x} and has {:#x} at byte {}", pattern, *wrong,
                            wrong - bytes.begin());
    }
    if (!trouble.empty()) break;
  }
  cuda.give(memory);
  return trouble;
}

std::string try_device(const Cuda& cuda, int ordinal) {
  int device = 0;
  void* context = nullptr;
  int result = cuda.device(&device, ordinal);
  if (result == 0) result = cuda.begin(&context, 0, device);
  if (result != 0) return fmt::format("cannot be used (CUDA's error {})", result);
  std::string trouble = fill_and_read(cuda);
  cuda.end(context);
  return trouble;
}

}  // namespace

std::string try_cuda(int expected) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return "";
  Cuda cuda;
  if (!find_all(library, cuda)) return "libcuda.so.1 is too old: it lacks functions of CUDA 4";
  int count = 0;
  int result = cuda.init(0);
  if (result == 0) result = cuda.count(&count);
  if (result != 0) return fmt::format("CUDA's driver cannot begin (error {})", result);
  if (count < expected) return fmt::format("CUDA sees {} of {} devices", count, expected);
  for (int i = 0; i < count; ++i) {
    const std::string trouble = try_device(cuda, i);
    if (!trouble.empty()) return fmt::format("GPU {} of {} {}", i + 1, count, trouble);
  }
  return "";
}

}  // namespace dove::programs
