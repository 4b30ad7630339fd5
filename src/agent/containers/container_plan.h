// Turns a task's plan into what dove-contain and the OCI runtime are told about its container.
//
// Pure except that it looks at files. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/tasks/task.h"
#include "base/result.h"
#include "containers/bundle.h"
#include "containers/cdi.h"
#include "containers/image_store.h"

namespace dove::agent {

// Who the task is, inside and outside.
struct ContainerIdentity {
  std::uint32_t uid = 0;  // inside
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  containers::IdMap uids;
  containers::IdMap gids;
};

// One --bind of dove-contain, and where it is seen.
struct ContainerBind {
  // "ro" and "rw" with the container's own rights, "owned" and "owned-ro" with the owner's; "huge":
  // `path` bytes of memory in pages of `root` bytes.
  std::string how;
  std::string root;  // absolute; `path` is looked up below it without following links
  std::string path;
  std::string target;
};

// "" is root inside and nobody outside; another is itself, or with `root` is root inside. Errors:
// there is no such user, or nobody has looked it up (agent/aside/linux_user.h).
Result<ContainerIdentity> container_identity(const std::string& linux_user, bool root = false);

// Who that is outside, as dove-contain takes it: "1000:1000:4,24"; "" for "".
Result<std::string> outside_user(const std::string& linux_user);

// Files of the node that every container sees.
struct ContainerFiles {
  std::string contain;   // dove-contain
  std::string hosts;     // becomes /etc/hosts; absent: the image's own
  std::string resolver;  // becomes /etc/resolv.conf; absent: the image's own
  std::string python;    // directory of the package `dove`; "": none
};

// A directory below which volumes may be. Whoever has a Linux user has that user's rights there;
// others have its owner's, and those of one who reads, if they are named. "*" is everybody.
struct VolumeRoot {
  std::string path;   // absolute
  std::string owner;  // "": nobody
  std::vector<std::string> readers;
};

// "DIR[=OWNER[+READER]...],...": relative paths begin at the working directory. Errors name the
// part that is malformed.
Result<std::vector<VolumeRoot>> parse_volume_roots(const std::string& text);

// What the container sees of the node: volumes, what the task shares with its job, those files.
// Errors: a volume that lies in none of `volume_roots`, or is another's.
Result<std::vector<ContainerBind>> container_binds(const TaskPlan& plan,
                                                   const std::vector<VolumeRoot>& volume_roots,
                                                   const ContainerFiles& files);

// How devices are named in CDI files, and where those are.
struct CdiNames {
  std::vector<std::string> directories;      // later ones come first
  std::map<std::string, std::string> kinds;  // by vendor: "nvidia" to "nvidia.com/gpu"
};

// What plug-ins and the CDI files of this node say of the task's devices; of files nothing where
// none is of their kind. Errors: a kind that is there does not have the device, or malformed files.
Result<containers::CdiEdits> cdi_edits(const TaskPlan& plan, const CdiNames& names);
// Has the container changed as they say, but for mounts, which are binds. `identity` gets groups.
void apply_cdi(const containers::CdiEdits& edits, ContainerIdentity& identity,
               containers::Bundle& bundle);
std::vector<ContainerBind> cdi_binds(const containers::CdiEdits& edits);

// The package `dove` comes last in PYTHONPATH, behind the image's and the job's own.
containers::Bundle container_bundle(const TaskPlan& plan, const containers::Image& image,
                                    const ContainerIdentity& identity,
                                    const std::vector<ContainerBind>& binds);

}  // namespace dove::agent
