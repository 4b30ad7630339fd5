// Relays: bytes of output files on their way to readers, through the controller.
//
// A relay follows one file from an offset, across its rotation, with one chunk (64 KiB) in flight.
// It ends at the file's end or, when it follows a running task, once the task is over and
// everything has been sent. Each waits for its own answers alone (Uplink::OwnLine), so a slow
// reader blocks nothing else. Where a chunk is lost with its connection, the relay says so until it
// is heard: its reader must neither wait for more nor take what came for all. Files are opened,
// read and closed on side threads, so a file system that hangs blocks only its own readers. Loop
// thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/aside/side_threads.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::agent {

class Relays {
 public:
  // What has become of a chunk. A broken one may have been taken: it is not sent again.
  enum class Sent { kTaken, kNobodyReads, kBroken };
  // Sends one chunk: POST to `target` with `body`.
  using Send =
      std::function<void(std::string target, std::string body, std::function<void(Sent)> done)>;

  // Makes the line of one relay, which is gone with it.
  using NewLine = std::function<Send()>;

  struct Source {
    std::string path;
    std::int64_t offset = 0;
    // The file must be this Linux user's ("": nobody's will do); unset: anybody's will.
    std::optional<std::string> owner = {};
    bool follow = false;  // waits for more until finish(); else ends at the file's end
  };

  Relays(wire::Loop& loop, std::string node, NewLine new_line);
  ~Relays();  // what waits for a relay's end is dropped

  // `tag` tells relays of one id apart ("rank=0&stream=stdout"); may be empty. `marks_end`: tells
  // the listener when it is over.
  void open(const std::string& id, const std::string& tag, const Source& source, bool marks_end);
  // The writer of `path` is over: its relays end when everything has been sent.
  void finish(const std::string& path);
  // The directory `from` is now called `to`: what no relay had opened yet is read there.
  void moved(const std::string& from, const std::string& to);
  // Nobody listens any more.
  void close(const std::string& id);
  // Calls `fn` once no relay of that id is open (at once if none is).
  void when_drained(const std::string& id, std::function<void()> fn);
  // Drops all (the session is over).
  void clear();

 private:
  class File;
  struct Relay;
  struct Reading;
  void took(const std::shared_ptr<Relay>& relay, Reading reading);
  void pump(const std::shared_ptr<Relay>& relay);
  void tell_broken(const std::shared_ptr<Relay>& relay);
  void wait(const std::shared_ptr<Relay>& relay);
  void drop(const std::shared_ptr<Relay>& relay);
  void check_drained(const std::string& id);

  wire::Loop& loop_;
  SideThreads side_;
  std::string node_;
  NewLine new_line_;
  std::multimap<std::string, std::shared_ptr<Relay>> by_id_;
  std::map<std::string, std::function<void()>> drained_;
};

}  // namespace dove::agent
