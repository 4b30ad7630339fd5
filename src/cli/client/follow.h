// Following a job: its output as it comes, and its exit code when it has ended.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/client/api.h"

namespace dove::cli {

struct LogWanted {
  std::int64_t rank = -1;     // -1: the server's choice (the script, or rank 0)
  std::int64_t attempt = -1;  // -1: the last
  bool error_stream = false;
  bool follow = false;      // until the attempt ended; waits for its begin
  bool label = false;       // each line with its rank
  bool apart = false;       // the error stream goes to stderr
  std::int64_t offset = 0;  // bytes to leave out
  std::int64_t tail = -1;   // begin with that many of the lines there are now; -1: all
};

// Prints the log to stdout. Following it outlives a restart of the server or of the node's agent:
// it is asked for the rest for up to a minute.
Result<void> print_log(Api& api, const std::string& job, LogWanted wanted);

// Prints one stream of one task as it comes, until its attempt ended; outlives what print_log does.
// For a thread of its own.
Result<void> follow_task(const Endpoint& endpoint, const std::string& job, const LogWanted& wanted);

// Prints what ranks 0 to `ranks` - 1 print (0: nothing) until the job ended and gives its exit
// code. The first SIGINT or SIGTERM cancels the job. At most 32 ranks are followed.
Result<int> run_to_end(Api& api, const std::string& job, int ranks, bool label);

}  // namespace dove::cli
