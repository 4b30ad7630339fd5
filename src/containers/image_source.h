// ImageSource: what the name of an image means, and what is found of it on disk.
//
// The administrator's directory of images may be on a file system that hangs, so look_at() belongs
// on a side thread. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::containers {

struct ImageSource {
  std::string path;  // of a layout, archive, directory or squash file; a registry's reference
  std::string tag = "latest";
  enum class Kind { kDirectory, kLayout, kArchive, kRegistry, kSquash } kind = Kind::kDirectory;
};

// An image of the administrator's directory.
struct ImageSeen {
  ImageSource source;
  std::string digest;  // of a layout
  // The words before a program; an archive's are known once it was brought.
  Result<std::vector<std::string>> entrypoint = std::vector<std::string>();
};

Error bad_image(const std::string& message);

// Whether the name is one of the administrator's directory, rather than of a registry or a path.
bool is_listed(const std::string& name);
// Errors: it would lead out of that directory. REQUIRES: is_listed(name).
Result<void> check_listed(const std::string& name);
// What other names mean. Errors: the node brings nothing from registries.
Result<ImageSource> source_elsewhere(const std::string& name, bool pulls);
// REQUIRES: is_listed(name). Errors: there is no such image, or it is malformed.
Result<ImageSeen> look_at(const std::string& images, const std::string& name);

// The digest that the tag means in an OCI layout, as a file's name; that image's entry point.
Result<std::string> digest_in(const std::string& layout, const std::string& tag);
Result<std::vector<std::string>> entrypoint_in(const std::string& layout,
                                               const std::string& digest);
// enroot's, which changes directory and runs the entry point with what follows; none: it has none.
std::vector<std::string> entrypoint_of_root(const std::string& root);
// The lines NAME=value in which enroot keeps what an image sets.
std::string environment_file(const std::string& root);

Result<nlohmann::json> read_image_json(const std::string& path);
// "a/b:c" as a name of one file.
std::string image_file_name(std::string text);

}  // namespace dove::containers
