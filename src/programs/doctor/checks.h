// What `dove doctor` looks at. Each check reads and says what it found; none writes anything.
//
// Calls block, each for a few seconds at most but for the log, which takes as long as it is long.
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client/api.h"

namespace dove::programs {

enum class Verdict { kGood, kWarning, kFault, kUnknown };
const char* word(Verdict verdict);

struct Check {
  std::string part;  // "server", "agent", "store", "cluster"
  std::string subject;
  Verdict verdict = Verdict::kGood;
  std::string evidence;
  std::string remedy;  // a command or a page; "" when there is nothing to do
};

struct DoctorOptions {
  std::string server_data;
  std::string agent_data;
  std::string shared;       // that nodes share; "": DATA/shared of the agent, if it is there
  std::string certificate;  // that the server shows to people; "": its own
  std::string key;
  std::string store;       // URL of a PostgreSQL
  bool whole_log = false;  // not only what is newer than the last snapshot
  std::int64_t now_s = 0;  // since 1970
};

std::vector<Check> check_server(const DoctorOptions& options);
std::vector<Check> check_agent(const DoctorOptions& options);
// A PostgreSQL with the log of several controllers, or one that is to have it.
std::vector<Check> check_store(const DoctorOptions& options);
std::vector<Check> check_cluster(cli::Api& api, const DoctorOptions& options);

// -- pieces that several of them have ------------------------------------------------------------

// A directory that answers in time, with room for more.
Check check_disk(const std::string& part, const std::string& directory, std::int64_t bytes_least);
// How long an fsync of the directory takes: each batch of the log waits for one.
Check check_fsync(const std::string& part, const std::string& directory);
// A file that its owner alone may read, who is that of the directory. One that is not there is
// good.
Check check_private(const std::string& part, const std::string& path);
// When it ends; a warning below `days_least`. One that is not there is good.
Check check_certificate(const std::string& part, const std::string& path, std::int64_t now_s,
                        std::int64_t days_least, const std::string& remedy);
// Whether a program of ours has the file locked, as far as can be seen from here.
bool is_running(const std::string& locked);
// How much the program has left of open files and of tasks. It is known by the file that it has
// locked; nothing where none runs.
void check_limits(const std::string& part, const std::string& locked, std::vector<Check>& out);
// The directory that nodes share: whether it is mounted, answers and can be written. `is_own`: it
// lies in the agent's data.
void check_shared(const std::string& shared, bool is_own, std::vector<Check>& out);
// "3 days", "5 h".
std::string span_text(std::int64_t seconds);

}  // namespace dove::programs
