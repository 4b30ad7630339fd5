// SharedAuthorities: the authorities (service/authorities.h) that all controllers of a log have.
//
// Each has them in its data directory. The leader keeps them in the database as well, under a key
// that follows from `secret`, which the controllers have and the database does not. A standby takes
// what the leader keeps, and so does a controller that begins to lead. DATA/ca.shared names what
// was last the same here and there, which tells whose files have changed since. A newer authority
// never gives way to an older one.
//
// Waits for the database: for the Term's thread.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace dove::programs {

class SharedAuthorities {
 public:
  // Where the leader keeps a text for the others; `read` fails with kNotFound where there is none.
  struct Place {
    std::function<Result<std::string>()> read;
    std::function<Result<void>(const std::string&)> write;
  };
  SharedAuthorities(Place place, std::string data_dir);

  // What has changed here is kept, by the leader; what has changed there is taken. Now and then,
  // and before this controller answers as the leader.
  void look(bool leads);

 private:
  Result<void> agree(bool leads, const std::string& here);
  Result<void> take(const std::string& kept);
  Result<void> remember(const std::string& text);
  Result<std::string> key() const;

  const Place place_;
  const std::string data_dir_;
  std::string agreed_;   // what is kept, as far as the leader knows; "": it does not
  std::string trouble_;  // said once
};

}  // namespace dove::programs
