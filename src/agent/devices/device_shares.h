// DeviceShares: how a task is kept to its share of a device.
//
// Memory: libdove-share.so, loaded before the task's own libraries, counts what all of its
// processes allocate and refuses what exceeds the share. It restrains programs that do not try to
// escape it. Where NVIDIA's MPS serves the node, the driver itself keeps each process of a plain
// task to the share, of memory and of processors. A container has its own /dev/shm, through which
// MPS would communicate, and uses the library instead. Devices of other vendors have neither. Any
// thread.
//
// Sources: NVIDIA Multi-Process Service, r550: CUDA_MPS_PIPE_DIRECTORY,
// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT, nvidia-cuda-mps-control.pid;
// src/share/keeper.h.
#pragma once

#include <string>
#include <vector>

#include "agent/tasks/task.h"
#include "model/node.h"
#include "model/placement.h"

namespace dove::agent {

enum class ShareKeeper {
  kNone,  // nothing is shared
  kNobody,
  kLibrary,
  kMps,  // and the library, over all processes of a task together
};
// "", "nobody", "library", "mps".
const char* word(ShareKeeper keeper);

struct ShareOptions {
  std::string library;        // libdove-share.so; "": there is none
  std::string mps_directory;  // of its pipes; "": MPS is not used
};

// Whether a control daemon of MPS lives that has its pipes there.
bool mps_runs(const std::string& directory);

// Which mechanism holds tasks to their shares of these devices.
ShareKeeper share_keeper(const ShareOptions& options, const Inventory& inventory,
                         const std::vector<DeviceGrant>& grants, bool contained);

// Where the tasks of an attempt count together; made by whoever makes what is the task's own.
std::string shares_directory(const std::string& attempt_directory);

// Has the task held to its share; `placement` is what all tasks of the attempt here were given.
// REQUIRES: plan.mark, plan.container and plan.environment are set.
void hold_to_share(const ShareOptions& options, const Inventory& inventory,
                   const Placement& placement, const std::vector<DeviceGrant>& grants,
                   const std::string& attempt_directory, TaskPlan& plan);

}  // namespace dove::agent
