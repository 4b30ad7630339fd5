// ImageWatch: a thread that lists the images of this node again and again, as their directory may
// be on a file server that does not answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "containers/image_list.h"

namespace dove::containers {

class ImageWatch {
 public:
  // `post` has a function called on the thread that is to hear of the lists (wire::Loop::post). It
  // outlives the watch, and drops what it has not yet called with it. `seen` is called when the
  // list is another than the last, at first `known`.
  ImageWatch(std::string directory, ImageList known, std::chrono::milliseconds interval,
             std::function<void(std::function<void()>)> post, std::function<void(ImageList)> seen);
  // Waits for what is under way.
  ~ImageWatch();
  ImageWatch(const ImageWatch&) = delete;
  ImageWatch& operator=(const ImageWatch&) = delete;

 private:
  void run();

  const std::string directory_;
  ImageList known_;  // of the thread
  const std::chrono::milliseconds interval_;
  const std::function<void(std::function<void()>)> post_;
  const std::function<void(ImageList)> seen_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace dove::containers
