// From a task's plan to what dove-contain and the OCI runtime are told about its container.
//
// Pure but for looking at users and files. Any thread.
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
  std::string how;   // "ro", "rw", "owned"; "huge": `path` bytes of memory in pages of `root` bytes
  std::string root;  // absolute; `path` is looked up below it without following links
  std::string path;
  std::string target;
};

// "" is root inside and nobody outside. Errors: there is no such user.
Result<ContainerIdentity> container_identity(const std::string& linux_user);

// Files of the node that every container sees.
struct ContainerFiles {
  std::string contain;   // dove-contain
  std::string hosts;     // becomes /etc/hosts; absent: the image's own
  std::string resolver;  // becomes /etc/resolv.conf; absent: the image's own
  std::string python;    // directory of the package `dove`; "": none
};

// What the container sees of the node: volumes, what the task shares with its job, those files.
// Errors: a volume that lies in none of `volume_roots`.
Result<std::vector<ContainerBind>> container_binds(const TaskPlan& plan,
                                                   const std::vector<std::string>& volume_roots,
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
