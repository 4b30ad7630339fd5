// A directory that root makes for a job's user, in a place where others may write.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace dove::agent {

// Makes `parent`/`name` with mode 0700 for that user and group, or finds it theirs already.
//
// All calls use descriptors: a link in place of the directory is not followed, and what another
// user made before, or an earlier cluster left, is not given away. `parent` is the administrator's
// and may be a link. Error kConflict not_theirs, kInternal: the message names the path.
Result<void> make_own_directory(const std::string& parent, const std::string& name, uid_t uid,
                                gid_t gid);

}  // namespace dove::agent
