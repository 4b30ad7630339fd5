// SharedAuthorities: the authorities (service/authorities.h) that all controllers of a log have.
//
// Each has them in its data directory. The leader keeps them in the database as well, under a key
// that follows from `secret`, which the controllers have and the database does not. A standby takes
// what the leader keeps, and so does a controller that begins to lead. DATA/ca.shared names what
// was last the same here and there, which tells whose files have changed since. A newer authority
// never gives way to an older one.
//
// A thread of its own waits for the database: whoever renews the lease must not.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "files/file_marks.h"
#include "programs/service/authorities.h"

namespace dove::programs {

class SharedAuthorities {
 public:
  // Where the leader keeps a text for the others; `read` fails with kNotFound where there is none.
  struct Place {
    std::function<Result<std::string>()> read;
    std::function<Result<void>(const std::string&)> write;
  };
  // From now on what has changed here is kept, by the leader; what has changed there is taken. At
  // first this controller stands by.
  SharedAuthorities(Place place, std::string data_dir);
  ~SharedAuthorities();  // waits for one look at most

  void stands_by();
  // `ready` is called, on the thread here, once it has the former leader's last ones, or could not
  // get them.
  void leads(std::function<void()> ready);

 private:
  void run();
  void look(bool leads);
  void read_files();
  Result<void> agree(bool leads);
  Result<void> remember(const std::string& text, const std::string& sealed);
  Result<std::string> key() const;

  const Place place_;
  const std::string data_dir_;
  files::FileMarks marks_;
  std::optional<Authorities> own_;  // as the files were read last; none: there are none to share
  std::string here_;                // the same as a text
  std::string agreed_;              // that was the same here and there; "": not known
  std::string sealed_;              // what was there then
  std::string trouble_;             // said once
  std::mutex mutex_;                // of what follows
  std::condition_variable wake_;
  bool leads_ = false;
  bool is_over_ = false;
  std::function<void()> ready_;
  std::thread thread_;
};

}  // namespace dove::programs
