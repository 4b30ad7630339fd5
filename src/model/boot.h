// Boot: how machines that keep nothing across a reboot start, and who may ask for a token to join.
//
// A BootConfig is declared by administrators, as the rest of declared.h. A machine that starts
// shows no secret of its own, so an administrator arms one boot of a node at a time.
#pragma once

#include <string>
#include <vector>

#include "model/labels.h"
#include "model/time.h"

namespace dove {

// Several may name a node: the first by name counts. All URLs and `arguments` become lines of
// an iPXE script, which anybody may read.
struct BootConfig {
  std::string name;
  std::vector<std::string> nodes;  // names or hostlists; "*" is every node
  std::string controller;          // URL at which the machine reaches the controller
  std::string kernel;              // URL
  std::string initrd;              // URL; "": none
  std::string arguments;           // of the kernel, before our own
  std::string image;               // URL of what the initrd unpacks; "": none
  std::string image_sha256;        // of that
  std::vector<std::string> from;   // networks from which a token is asked for, "10.0.0.0/16"
  bool from_root = true;           // and there from a port below 1024, which takes root
  std::string secret_sha256;       // of what has to be shown for it besides; "": nothing
  Span token_lifetime = seconds(600);
  Labels labels = {};
  bool operator==(const BootConfig&) const = default;
};

// -- events (model/event.h) ----------------------------------------------------------------------

// The node is about to boot: until then its machine may ask for one token. 0: no more.
struct BootArmed {
  std::string node_name;
  Instant until;
  bool operator==(const BootArmed&) const = default;
};
// A machine got the token. As JoinTokenIssued, and the boot is not armed any more.
struct BootTokenIssued {
  std::string sha256;
  std::string node_name;
  Instant expires_at;
  std::string address;  // of who asked, without its port
  bool operator==(const BootTokenIssued&) const = default;
};

}  // namespace dove
