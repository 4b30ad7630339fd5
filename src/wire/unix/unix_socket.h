// Streams over a socket in this machine's file system; the kernel identifies the peers. For the
// files of wire/ alone; loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/stream.h"

namespace dove::wire {

// Accepts until the handle is gone. Whoever may pass the directory may connect; peer_identity() is
// "unix:UID", the user who did (SO_PEERCRED). A file that a former process left is replaced.
// Errors: kInvalid bad_address.
Result<std::shared_ptr<void>> listen_unix(Loop& loop, const std::string& path,
                                          std::function<void(std::unique_ptr<Stream>)> on_accept);

// Connects to the socket at `path`, at once or not at all. Dropping the handle abandons the
// attempt: `done`, which comes in a later turn, is not called. Errors: connection_refused,
// unreachable.
[[nodiscard]] std::shared_ptr<void> connect_unix(
    Loop& loop, const std::string& path, std::function<void(Result<std::unique_ptr<Stream>>)> done);

}  // namespace dove::wire
