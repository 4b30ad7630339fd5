// Secrets: values that tasks get as files or variables, and that are shown nowhere.
#pragma once

#include <string>

#include "model/labels.h"
#include "model/time.h"

namespace dove {

// It belongs to a user or to a project, never to both. The log holds it sealed with the server's
// key for secrets, which is not in the log.
struct Secret {
  std::string name;
  std::string user;
  std::string project;
  std::string sealed;  // base64
  Instant set_at;
  Labels labels = {};
  bool operator==(const Secret&) const = default;
};

}  // namespace dove
