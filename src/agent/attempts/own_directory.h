// A directory that root makes for a job's user, in a place where others may write.
//
// All calls use descriptors. A link in place of the directory is not followed, and a directory that
// another user or an earlier cluster made is not given away. Blocks for as long as the file system
// does. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace dove::agent {

// Makes `parent`/`name` with mode 0700 for that user and group, or finds it theirs already.
// `parent` is the administrator's and may be a link. Error kConflict not_theirs, kInternal: the
// message names the path.
Result<void> make_own_directory(const std::string& parent, const std::string& name, uid_t uid,
                                gid_t gid);

// The same in `shared`/`kind`, which is made where it is missing. `shared` is the administrator's,
// and users may write in it; of `shared`/`kind` nobody else may be the owner, and nobody may take
// out what is another's: who could do that could put other checkpoints there for a job to load.
// Errors: besides those above, kConflict place_not_guarded.
Result<void> make_shared_directory(const std::string& shared, const std::string& kind,
                                   const std::string& name, uid_t uid, gid_t gid);

// Makes `shared`, and in it all kinds, before a user does. Errors: as above.
Result<void> make_shared_places(const std::string& shared);

}  // namespace dove::agent
