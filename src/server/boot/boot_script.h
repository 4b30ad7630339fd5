// The iPXE script by which a node's machine boots. Anybody may read it, so it holds no secret.
#pragma once

#include <string>

#include "model/boot.h"

namespace dove::server {

// `node`: a name. `authority`: the digest by which the machine knows the controller; "": by the
// authorities that its image trusts.
std::string boot_script(const BootConfig& config, const std::string& node,
                        const std::string& authority);

}  // namespace dove::server
