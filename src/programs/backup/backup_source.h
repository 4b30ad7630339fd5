// What a backup is made of.
#pragma once

#include <atomic>
#include <string>

namespace dove::programs {

struct BackupSource {
  std::string data;   // a controller's directory
  std::string store;  // the URL of the PostgreSQL that holds its log; "": `data` does
  const std::atomic<bool>& break_off;  // set when nothing is wanted any more
};

}  // namespace dove::programs
