#include "devices/device_watch.h"

#include <utility>

namespace dove::devices {

DeviceWatch::DeviceWatch(std::unique_ptr<Machine> machine, std::chrono::milliseconds interval,
                         std::function<void(std::function<void()>)> post)
    : machine_(std::move(machine)), interval_(interval), post_(std::move(post)) {}

DeviceWatch::~DeviceWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DeviceWatch::start(std::function<void(Sighting)> seen) {
  seen_ = std::move(seen);
  thread_ = std::thread([this] { run(); });
}

void DeviceWatch::arrange(std::int32_t device, std::vector<SlicePlace> places,
                          std::function<void(Result<CutSlices>)> done) {
  auto work = [this, device, places = std::move(places), done = std::move(done)] {
    auto slices = std::make_shared<Result<CutSlices>>(machine_->arrange(device, places));
    post_([done, slices] { done(*slices); });
  };
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void DeviceWatch::look_now() {
  {
    const std::lock_guard lock(mutex_);
    wants_look_ = true;
  }
  changed_.notify_all();
}

void DeviceWatch::look() {
  auto sighting = std::make_shared<Sighting>();
  Result<Inventory> inventory = machine_->inventory();
  if (!inventory.ok())
    return;  // the host's topology was read before; it is the devices that change
  sighting->inventory = std::move(inventory).value();
  sighting->cut = machine_->cut();
  sighting->files = machine_->files();
  sighting->fabric = machine_->fabric();
  sighting->driver_errors = machine_->driver_errors();
  sighting->samples = machine_->sample();
  post_([this, sighting] { seen_(std::move(*sighting)); });
}

void DeviceWatch::run() {
  auto next = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!work_.empty()) {
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
      continue;
    }
    if (wants_look_ || std::chrono::steady_clock::now() >= next) {
      wants_look_ = false;
      lock.unlock();
      look();
      lock.lock();
      next = std::chrono::steady_clock::now() + interval_;
      continue;
    }
    changed_.wait_until(lock, next);
  }
}

}  // namespace dove::devices
