// The Python package `dove` (python/dove), which is part of the program: jobs find it in their
// PYTHONPATH.
//
// The build writes its source (src/CMakeLists.txt) from python/dove.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::agent {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

// Pure.
std::span<const EmbeddedFile> python_package();

// Writes the package below `directory`, for everybody to read; what is there of a former version is
// replaced. Any thread.
Result<void> write_python_package(const std::string& directory);

}  // namespace dove::agent
