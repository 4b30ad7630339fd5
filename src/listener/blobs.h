// Blobs: the ExecSpecs that launches need, newest first in memory, the rest in the log's store.
//
// Loop thread only.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include "store/log_store.h"

namespace dove::listener {

class Blobs {
 public:
  static constexpr std::size_t kBytesMax = 32 << 20;

  explicit Blobs(store::LogStore& log) : log_(log) {}

  void put(const std::string& sha256, std::string bytes);
  // nullptr when it is nowhere.
  std::shared_ptr<const std::string> find(const std::string& sha256);

 private:
  struct Held {
    std::shared_ptr<const std::string> bytes;
    std::list<std::string>::iterator used;
  };

  store::LogStore& log_;
  std::map<std::string, Held> held_;
  std::list<std::string> newest_first_;
  std::size_t bytes_ = 0;
};

}  // namespace dove::listener
