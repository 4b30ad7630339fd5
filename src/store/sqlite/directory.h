// DataDirectory: the directory of one controller's data, held by one process at a time.
//
// Internal to store/sqlite. The hold is a lock of the operating system on `DIR/lock`: it ends with
// the process, however that ends. The file holds the pid for people to read.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::store {

class DataDirectory {
 public:
  // Creates the directory (0700) and `file` in it (0600, empty) when missing, and takes the lock.
  // kConflict `data_in_use` when another process holds it.
  static Result<DataDirectory> hold(const std::string& directory, const std::string& file);
  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&&) = delete;
  ~DataDirectory();

 private:
  explicit DataDirectory(int lock_descriptor) : lock_(lock_descriptor) {}
  int lock_;
};

}  // namespace dove::store
