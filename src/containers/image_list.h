// The images in the administrator's directory, by the names that ImageStore finds them by.
//
// Bounded: what is too many, too long or too deep is left out, and the list says that it is not
// whole. Reads the disk; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dove::containers {

struct ImageList {
  // Ascending. "NAME:TAG" of an OCI layout, "NAME:*" of one that takes any tag, "NAME.tar" of an
  // archive, "NAME" of a root directory.
  std::vector<std::string> names;
  bool is_whole = true;
  bool operator==(const ImageList&) const = default;
};

constexpr std::size_t kImagesListed_max = 256;
constexpr std::size_t kImageName_bytes = 256;

ImageList list_images(const std::string& directory);

}  // namespace dove::containers
