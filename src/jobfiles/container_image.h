// How options name images and what a container sees of its node. Pure, any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "model/exec.h"

namespace dove::jobfiles {

// Our name of an image: enroot's "REGISTRY#NAME:TAG" is "docker://REGISTRY/NAME:TAG". Errors,
// without a place: images of a local Docker.
Result<std::string> container_image(const std::string& given);

// "/SOURCE[:/TARGET[:ro]]"; pyxis' other flags are refused.
Result<Volume> parse_volume(const std::string& text);

}  // namespace dove::jobfiles
