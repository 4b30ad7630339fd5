// The paths of tcloud's files, and paths that stay below them. Reads the file system, any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::cli {

// USERDIR: TACC_USERDIR, else `tcloud config`'s, else ~/USERDIR.
std::string tcloud_userdir();
// `path` below USERDIR, a leading '/' stripped as upstream does. kDenied when it would lead out of
// it, by ".." or by a link.
Result<std::string> below_userdir(const std::string& path);

// ~/.config/dove/tcloud.yaml: what `tcloud config` keeps.
struct TcloudConfig {
  std::string username;
  std::string userdir;
};
TcloudConfig read_tcloud_config();
Result<void> write_tcloud_config(const TcloudConfig& config);

// Adds or replaces a dependency in the text of a tuxiv.conf, all else stays as it is. kInvalid when
// the text has no environment with a list to put it in.
Result<std::string> with_dependency(const std::string& text, const std::string& dependency);

}  // namespace dove::cli
