#include "devices/nvml/fake_world.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace dove::devices::nvml::fake {
namespace {

const std::vector<Kind> kOfEight = {{0, 19, 1, 1, {0, 1, 2, 3, 4, 5, 6}},
                                    {1, 14, 2, 2, {0, 2, 4}},
                                    {2, 9, 3, 4, {0, 4}},
                                    {3, 5, 4, 4, {0}},
                                    {4, 0, 7, 8, {0}},
                                    {7, 20, 1, 1, {0, 1, 2, 3, 4, 5, 6}},
                                    {9, 15, 1, 2, {0, 2, 4, 6}}};
const std::vector<Kind> kOfFour = {{0, 14, 1, 1, {0, 1, 2, 3}},
                                   {1, 5, 2, 2, {0, 2}},
                                   {3, 0, 4, 4, {0}},
                                   {7, 21, 1, 1, {0, 1, 2, 3}}};
const std::vector<Model> kModels = {{"A30", 24'576, kOfFour},
                                    {"A100-SXM4-40GB", 40'960, kOfEight},
                                    {"A100-SXM4-80GB", 81'920, kOfEight},
                                    {"H100", 81'559, kOfEight},
                                    {"H200", 143'771, kOfEight},
                                    {"T4", 15'360, {}}};

std::string state_path() {
  const char* path = std::getenv("DOVE_FAKE_NVML");
  return path == nullptr ? "" : path;
}

void read_line(const std::string& line) {
  std::stringstream words(line);
  std::string what;
  words >> what;
  if (what == "driver") words >> world.driver;
  if (what == "gpus") {
    std::size_t count = 0;
    words >> count >> std::ws;
    std::getline(words, world.name);
    world.gpus.resize(std::max(world.gpus.size(), count));
    while (world.gpus.size() > count) world.gpus.pop_back();
    for (unsigned i = 0; i < count; ++i) world.gpus[i].index = i;
    for (const Model& model : kModels) {
      if (world.name.find(model.word) != std::string::npos) world.model = &model;
    }
  }
  if (what == "gpu") {
    unsigned index = 0;
    std::string key;
    std::string value;
    words >> index >> key >> value;
    if (index >= world.gpus.size()) return;
    Gpu& gpu = world.gpus[index];
    if (key == "xid") {
      gpu.xids.push_back(static_cast<unsigned>(std::stoul(value)));
    } else if (key == "busy") {
      gpu.busy.push_back(static_cast<unsigned>(std::stoul(value)));
    } else {
      gpu.keys[key] = value;
    }
  }
  if (what == "nvlink") {
    std::array<std::string, 3> link;
    words >> link[0] >> link[1] >> link[2];
    world.links.push_back(link);
  }
}

}  // namespace

World world;

void save_slices() {
  std::ofstream file(state_path() + ".mig");
  for (const auto& [gpu, on] : world.mig) file << "mode " << gpu << ' ' << on << '\n';
  for (const Slice& slice : world.slices) {
    if (slice.is_gone) continue;
    file << "slice " << slice.gpu << ' ' << slice.id << ' ' << slice.kind << ' ' << slice.start
         << ' ' << slice.has_compute << '\n';
  }
}

void load_slices() {
  std::ifstream file(state_path() + ".mig");
  for (std::string word; file >> word;) {
    unsigned gpu = 0;
    file >> gpu;
    if (word == "mode") {
      file >> world.mig[gpu];
      continue;
    }
    Slice slice;
    slice.gpu = gpu;
    file >> slice.id >> slice.kind >> slice.start >> slice.has_compute;
    world.next_slice = std::max(world.next_slice, slice.id + 1);
    world.slices.push_back(slice);
  }
}

void refresh() {
  struct stat status {};
  if (stat(state_path().c_str(), &status) != 0) {
    world.driver.clear();
    return;
  }
  if (world.path != state_path()) {  // another test's, in the same process
    world = {};
    world.path = state_path();
    load_slices();
  }
  if (status.st_mtim.tv_sec == world.read_at.tv_sec &&
      status.st_mtim.tv_nsec == world.read_at.tv_nsec) {
    return;
  }
  world.read_at = status.st_mtim;
  world.driver.clear();
  world.links.clear();
  for (Gpu& gpu : world.gpus) {
    gpu.keys.clear();
    gpu.xids.clear();
    gpu.busy.clear();
  }
  std::ifstream file(state_path());
  for (std::string line; std::getline(file, line);) read_line(line);
}

Gpu* gpu_of(Handle handle) {
  refresh();
  for (Gpu& gpu : world.gpus) {
    if (&gpu == handle) return &gpu;
  }
  return nullptr;
}

Status alive(Handle handle) {
  const Gpu* gpu = gpu_of(handle);
  if (world.driver.empty()) return kDriverNotLoaded;
  if (gpu == nullptr) return 2;
  return gpu->keys.count("lost") != 0 && gpu->keys.at("lost") == "1" ? kGpuIsLost : kSuccess;
}

std::string key(const Gpu& gpu, const std::string& name, const std::string& otherwise) {
  const auto found = gpu.keys.find(name);
  return found == gpu.keys.end() ? otherwise : found->second;
}

Status number(Handle handle, const std::string& name, const std::string& otherwise, unsigned* out) {
  const Status status = alive(handle);
  if (status == kSuccess)
    *out = static_cast<unsigned>(std::stoul(key(*gpu_of(handle), name, otherwise)));
  return status;
}

Status copy(const std::string& text, char* out, unsigned length) {
  if (text.size() >= length) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

Slice* slice_of(Handle handle) {
  for (Slice& slice : world.slices) {
    if (&slice == handle && !slice.is_gone) return &slice;
  }
  return nullptr;
}

}  // namespace dove::devices::nvml::fake
