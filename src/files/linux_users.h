// What this machine's directory of Linux users says of one: an entry, that there is none, or
// nothing that counts.
//
// "Not found" proves little: libc says the same where SSSD, nslcd or winbind does not run, by the
// way its module is built. So whoever is not found is unsure while a service that nsswitch.conf
// names, and that is set up here, takes no connections. A look-up may never return (LDAP). Any
// thread.
#pragma once

#include <cstdint>
#include <string>

namespace dove::files {

struct LinuxEntry {
  std::string name;
  std::string home;
  std::string shell;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

struct LinuxLookUp {
  enum class Answer { kFound, kNobody, kUnsure };
  Answer answer = Answer::kNobody;
  LinuxEntry entry = {};  // kFound
  std::string why = {};   // kUnsure: "nslcd does not run"
};

// "": whoever this process runs as.
LinuxLookUp look_up(const std::string& name);

// The service of people's accounts that is away; "": none is. `root`: "", or a test's own machine.
std::string absent_service(const std::string& root = "");

}  // namespace dove::files
