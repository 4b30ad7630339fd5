#include "containers/image_watch.h"

#include <utility>

namespace dove::containers {

ImageWatch::ImageWatch(std::string directory, ImageList known, std::chrono::milliseconds interval,
                       std::function<void(std::function<void()>)> post,
                       std::function<void(ImageList)> seen)
    : directory_(std::move(directory)),
      known_(std::move(known)),
      interval_(interval),
      post_(std::move(post)),
      seen_(std::move(seen)),
      thread_([this] { run(); }) {}

ImageWatch::~ImageWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ImageWatch::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval_, [this] { return stopping_; })) {
    lock.unlock();
    ImageList list = list_images(directory_);
    if (list != known_) {
      known_ = list;
      post_([this, list] { seen_(list); });
    }
    lock.lock();
  }
}

}  // namespace dove::containers
