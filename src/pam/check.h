// The password of a Linux account, by PAM: whatever it is set up to ask, files, LDAP or SSSD.
//
// PAM's modules are libraries that may hang, crash and change the process they are in. So they get
// one of their own: `dove check-password`, which ask() starts. Both block.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dove::pam {

struct Service {
  std::string name;       // of its file: "dove"
  std::string directory;  // that the file is in; "": /etc/pam.d
};

struct Account {
  std::string name;  // as the system's account database spells it
  std::uint32_t uid = 0;
};

// In this process. Errors: kUnauthenticated wrong_password (also when there is no such account),
// account_closed (expired, locked); kUnavailable pam_failed.
Result<Account> check(const Service& service, const std::string& user, const std::string& password);

// `dove check-password`: reads one question from its input, writes the answer. Its exit status.
int answer_one();

}  // namespace dove::pam
