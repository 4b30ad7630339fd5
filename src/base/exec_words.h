// Words as exec and spawn take them.
#pragma once

#include <string>
#include <vector>

namespace dove {

// Ends with nullptr. Valid as long as `words`, which the calls only read.
inline std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace dove
