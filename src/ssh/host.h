// What a channel has of the connection that it is on. Include only from .cc files of this part, and
// from its headers.
#pragma once

#include <functional>
#include <string>

#include "ssh/entry_name.h"
#include "ssh/server_link.h"
#include "wire/loop.h"

namespace dove::ssh {

struct Host {
  wire::Loop& loop;
  const ServerLink& server;
  EntryName where;
  std::string token;                  // of this connection, into that job
  std::function<void()> has_written;  // to libssh, which may hold it until the socket takes it
};

}  // namespace dove::ssh
