// Direct storage: lets tasks read files straight into their GPUs (NVIDIA GPUDirect Storage).
//
// Where the kernel has nvidia-fs, tasks with a GPU may open its device files. Where there are
// network cards for storage as well, cuFile finds their addresses in a file that
// CUFILE_ENV_PATH_JSON names; file systems over RDMA need it. A job's own CUFILE_ENV_PATH_JSON is
// left alone.
//
// Source: NVIDIA GPUDirect Storage Configuration Guide, cufile.json: properties.rdma_dev_addr_list.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/devices/fabric.h"
#include "agent/tasks/task.h"
#include "base/result.h"
#include "devices/cards.h"

namespace dove::agent {

// The IPv4 addresses of an interface of this machine now, as text.
std::vector<std::string> addresses_of(const std::string& interface);

// The text of the file; "": there is no nvidia-fs, or no card of the storage plane (where none is
// declared, of no other plane) that is active and has an address.
std::string cufile_config(
    const devices::Fabric& fabric, const Planes& planes,
    const std::function<std::vector<std::string>(const std::string& interface)>& addresses);
// Writes it whole, for everybody to read, or removes a former one; "" is returned where there is
// none.
Result<std::string> write_cufile_config(const std::string& path, const std::string& text);

// Lets a task with these devices use it; `config` is the file's path, "": there is none.
void use_direct_storage(const devices::Fabric& fabric, const std::string& config, TaskPlan& plan);

}  // namespace dove::agent
