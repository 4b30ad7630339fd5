// WaysIn: what signing in needs besides the desk, as the administrator has configured it. One per
// server, loop thread only. Include only from .cc files, and from headers that no other part reads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hook/answer.h"
#include "listener/throttle.h"
#include "openid/issuer.h"
#include "openid/signer.h"
#include "pam/check.h"
#include "server/sign_in/device_sign_ins.h"
#include "server/sign_in/side_threads.h"

namespace dove::server {

using PasswordCheck =
    std::function<Result<pam::Account>(const std::string& user, const std::string& password)>;

struct WaysIn {
  WaysIn(wire::Loop& loop, const std::vector<openid::Provider>& providers, openid::Signer with,
         std::string url, PasswordCheck check, hook::Ask hook, bool keeps_passwords)
      : devices(loop),
        signer(std::move(with)),
        public_url(std::move(url)),
        check_password(std::move(check)),
        ask_hook(std::move(hook)),
        local_passwords(keeps_passwords),
        at_passwords(loop, 4),
        at_hook(loop, 4),
        at_hashes(loop, 2) {
    for (const openid::Provider& one : providers) {
      issuers.push_back(std::make_shared<openid::Issuer>(one));
      at_issuers.try_emplace(one.name, loop, 4);
    }
  }

  DeviceSignIns devices;
  std::vector<std::shared_ptr<openid::Issuer>> issuers;
  openid::Signer signer;         // of identity tokens
  std::string public_url;        // "": as the caller names this server
  PasswordCheck check_password;  // of Linux accounts; blocks; unset: there is none
  hook::Ask ask_hook;            // the site's; blocks; unset: there is none, as with Linux accounts
  const bool local_passwords;    // that only this server knows
  // What one address may try: each takes seconds, and guesses are to stay few.
  listener::Throttle password_tries{
      {.requests = {1, 10}, .in_progress_max = 3, .failures = {1, 10}}};
  // Last: they end first.
  std::map<std::string, SideThreads> at_issuers;  // by the provider's name
  SideThreads at_passwords;
  SideThreads at_hook;
  SideThreads at_hashes;  // each takes a processor, and 46 MiB
};

}  // namespace dove::server
