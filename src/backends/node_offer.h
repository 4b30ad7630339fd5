// NodeOffer: what a node's agent reports that tasks may have there, beyond the inventory. Placement
// does not use it; it lets a submitter be warned at once.
#pragma once

#include <string>
#include <vector>

namespace dove::backends {

struct NodeOffer {
  bool limits_memory = true;   // a task without a container cannot take more than it asked for
  bool gives_secrets = false;  // to tasks whose job asks for some
  bool has_containers = false;
  bool pulls = false;               // images of registries too
  bool names_all = true;            // there are no more images than those of `images`
  std::vector<std::string> images;  // containers/image_list.h
  bool operator==(const NodeOffer&) const = default;
};

}  // namespace dove::backends
