// OutputReads: what tasks print where an executor runs them. The executor's adapter, which dials
// in, is told which part of which file to read, and sends it; here nothing of a file is kept.
//
// A reader that follows is sent more until the attempt has ended. One part is asked for at a time,
// and the next one once the reader has taken what came. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "backends/node_backend.h"
#include "listener/call.h"
#include "listener/desk.h"
#include "wire/loop.h"

namespace dove::server {

// A file of an attempt, as its executor's adapter finds it.
struct OutputFile {
  std::string executor;
  std::string user;     // a Linux user, as whom it is read
  std::string workdir;  // "": the user's home
  std::string path;     // relative to it, or absolute
  std::string node;     // where the tasks that write it run, for messages
};

class OutputReads {
 public:
  static constexpr std::size_t kReadersMax = 128;  // of one executor
  // `dove run` follows both streams of 32 tasks; half of an executor's readers are left to others.
  static constexpr std::ptrdiff_t kOfCallerMax = 64;
  static constexpr std::int64_t kPartBytes = 256 << 10;
  static constexpr std::int64_t kTailBytes = 1 << 20;  // of which the last lines are looked for
  // So long an adapter has to ask what to read, and again to send a part; and so long a file has to
  // appear after somebody began to follow it.
  static constexpr std::chrono::seconds kPatience{20};

  explicit OutputReads(listener::Desk& desk) : desk_(desk) {}
  OutputReads(const OutputReads&) = delete;
  OutputReads& operator=(const OutputReads&) = delete;

  // Answers `call` with what is in the file.
  void read(listener::CallPtr call, OutputFile file, const backends::LogRequest& request);
  // A call of the adapter of `executor`: brings the part it was told to read, if any, and is
  // answered with the next one, or after `wait` with none.
  void exchange(const std::string& executor, listener::CallPtr call, std::chrono::seconds wait);
  void close_all();

 private:
  class Reader;
  struct Adapter {
    listener::CallPtr waiting;
    wire::Timer deadline;
    std::deque<std::string> asked;  // parts that it does not know yet
  };

  void ask(const std::shared_ptr<Reader>& reader);
  void await_adapter(const std::shared_ptr<Reader>& reader);
  void take(const std::string& executor, const listener::Call& call);
  void tell(Adapter& adapter);
  void drop(Reader& reader);

  listener::Desk& desk_;
  std::map<std::string, Adapter> adapters_;
  std::set<std::shared_ptr<Reader>> readers_;
  std::map<std::string, std::shared_ptr<Reader>> parts_;  // by the part's name
};

}  // namespace dove::server
