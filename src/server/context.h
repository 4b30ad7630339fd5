// Context: what the handlers of the API's requests share. One per server, loop thread only.
//
// Include only from .cc files of this part.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/node_backend.h"
#include "listener/desk.h"
#include "openid/issuer.h"
#include "openid/signer.h"
#include "pam/check.h"
#include "server/event_feed.h"
#include "server/job_waits.h"
#include "server/sign_in/device_sign_ins.h"
#include "server/sign_in/side_threads.h"
#include "server/turns.h"

namespace dove::server {

using listener::Call;
using listener::Caller;
using listener::CallPtr;
using listener::invalid;
using listener::not_found;

using PasswordCheck =
    std::function<Result<pam::Account>(const std::string& user, const std::string& password)>;

struct Context {
  listener::Desk& desk;
  backends::NodeAccess nodes;
  std::string version;
  EventFeed feed;
  JobWaits waits;
  std::unique_ptr<DeviceSignIns> devices;
  std::vector<std::shared_ptr<openid::Issuer>> issuers;  // that people sign in at
  openid::Signer signer;                                 // of identity tokens
  std::string public_url;                                // "": as the caller names this server
  PasswordCheck check_password;                          // blocks; unset: there is none
  Turns declaring = {};                                  // of calls that change declared objects
  // Last: they end first.
  std::unique_ptr<SideThreads> at_issuers;
  std::unique_ptr<SideThreads> at_passwords;

  const core::State& state() const { return desk.state(); }
};

}  // namespace dove::server
