// Starting while the disk is full: agents are answered meanwhile, so that none ends its tasks
// (docs/decisions/0002-fence.md).
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "programs/server/server_runtime.h"
#include "wire/loop.h"

namespace dove::programs {

// As ServerRuntime::start. While that fails for want of room on the disk of the data directory,
// every request at the server's address is answered with 503 `disk_full`, and it is tried again
// once there is some; how long that takes is up to whoever frees space.
Result<std::unique_ptr<ServerRuntime>> start_once_there_is_room(wire::Loop& loop,
                                                                const ServerSettings& settings);

// As ServerRuntime::stand_by; waits while PostgreSQL cannot be reached, and says so once.
Result<std::unique_ptr<ServerRuntime>> stand_by_once_there_is_a_store(
    wire::Loop& loop, const ServerSettings& settings,
    const std::function<void(bool leads)>& on_turn);

}  // namespace dove::programs
