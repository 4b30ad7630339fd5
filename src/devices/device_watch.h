// DeviceWatch: the one thread that talks to a machine's devices.
//
// It looks at them again and again, and carries out what it is asked to in between, one thing at a
// time: a driver that hangs holds up this thread and nobody else's. What it found and did comes
// back through `post`, in order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "devices/machine.h"

namespace dove::devices {

struct Sighting {
  Inventory inventory;
  std::vector<std::int32_t> cut;  // ids of devices that have slices, ascending
  DeviceFiles files;              // by id
  Fabric fabric;
  std::vector<Error> driver_errors;
  std::vector<DeviceSample> samples;
};

class DeviceWatch {
 public:
  // `post` has a function called on the thread that is to hear of things (wire::Loop::post). It
  // outlives the watch, and drops what it has not yet called with it.
  DeviceWatch(std::unique_ptr<Machine> machine, std::chrono::milliseconds interval,
              std::function<void(std::function<void()>)> post);
  // Waits for what is under way.
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // Begins to look; `seen` is called after each time.
  void start(std::function<void(Sighting)> seen);
  // Looks as soon as it can. Thread-safe.
  void look_now();
  // See Machine::arrange. Thread-safe.
  void arrange(std::int32_t device, std::vector<SlicePlace> places,
               std::function<void(Result<CutSlices>)> done);

 private:
  void run();
  void look();

  std::unique_ptr<Machine> machine_;
  std::chrono::milliseconds interval_;
  std::function<void(std::function<void()>)> post_;
  std::function<void(Sighting)> seen_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool stopping_ = false;
  bool wants_look_ = false;
  std::thread thread_;
};

}  // namespace dove::devices
