// Progress: how far the tasks of an attempt are, by their own account.
//
// Each task has a file of its own, named by DOVE_PROGRESS in its environment, in which it
// overwrites one line: `step=120 seconds=0.81 wait=0.1 samples=512 loss=2.3 phase=train
// blamed=3,7`. Only `step` is required. All of them lie in one directory of the agent in which
// everybody may create files and nobody may list them; their names begin with a secret of the job.
// Those of a container lie in its attempt's directory. A job that writes none costs nothing.
// Nothing in them is trusted: no more than kProgressLine_bytes of each are read. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/attempts/order.h"
#include "protocol/reports.h"
#include "wire/loop.h"

namespace dove::agent {

constexpr std::size_t kProgressLine_bytes = 512;
constexpr std::size_t kProgressRanks_max = 256;
constexpr std::size_t kBlamed_max = 8;  // ranks that one rank blames

// What one line says. `wait_us` is the part of the step that was spent waiting for other ranks.
struct Said {
  std::int64_t step = 0;
  std::int64_t step_us = 0;
  std::int64_t wait_us = 0;
  std::int64_t samples = 0;
  std::optional<double> loss;
  std::string phase;         // a word
  std::vector<Rank> blamed;  // with which a collective failed, ascending, each once
  bool operator==(const Said&) const = default;
};

// Nothing: it is no such line, or not yet whole. Words that are not known are passed over.
std::optional<Said> read_progress_line(std::string_view text);

// What the names of the attempt's files begin with: "7.1.2f04…"; the rank follows, behind a dot.
std::string progress_prefix(const LaunchOrder& order);
// For containers, which see nothing of the agent's directory but this.
std::string own_progress_directory(const std::string& attempt_directory);

using ProgressFound = std::map<std::string, std::map<Rank, Said>>;  // by prefix
// What stands in the directory's files, of those prefixes that `found` has. A file that is not a
// plain one is not opened. With `removes` others are removed, and those that grew large.
// False: there are more names than are looked at, maybe a stranger's.
bool read_progress(const std::string& directory, bool removes, ProgressFound& found);
// Reads the files of these ranks alone, whatever else is there.
void read_progress_of(const std::string& directory, const std::string& prefix,
                      const std::vector<Rank>& ranks, ProgressFound& found);

// What is known of one attempt on this node: the last steps of each rank.
class AttemptProgress {
 public:
  // Whether anything is new.
  bool take(const std::map<Rank, Said>& said);
  // Whether a rank has blamed another since this was asked last.
  bool has_new_blame() { return std::exchange(has_new_blame_, false); }
  // An entry of a report's "events" (api/agent-protocol.md). REQUIRES: take() was true once.
  protocol::Progress report(AttemptKey key) const;

 private:
  struct Ranked {
    Said last;
    std::deque<std::int64_t> busy_us;  // of the last steps
  };
  static std::int64_t median_us(const Ranked& ranked);

  std::map<Rank, Ranked> ranks_;
  bool has_new_blame_ = false;
};

// Looks at the files again and again, and tells at most once in `every` for an attempt; who blames
// another rank is told at once, kBlames_max times in an attempt.
class ProgressWatch {
 public:
  struct Attempt {
    AttemptKey key;
    std::string prefix;
    std::string own_directory;  // "": its files are where all are
    std::vector<Rank> ranks;    // that run here
  };
  // `attempts` are the attempts whose tasks may run here; `tell` gets the entries of reports.
  ProgressWatch(wire::Loop& loop, std::string directory, std::chrono::milliseconds every,
                std::function<std::vector<Attempt>()> attempts,
                std::function<void(protocol::Progress)> tell);
  // Makes the directory; `shared`: tasks run as other users.
  void start(bool shared);
  // Whoever listens is new: everything is told again.
  void repeat();
  // Some of its tasks are over, and that is about to be told: what they said last comes before it.
  void last_words(AttemptKey key);

 private:
  struct Watched {
    Attempt attempt;
    AttemptProgress progress;
    bool is_news = false;
    std::int64_t told_us = 0;
    int blames = 0;  // that were told at once
  };
  void look();

  wire::Loop& loop_;
  std::string directory_;
  std::chrono::milliseconds every_;
  std::function<std::vector<Attempt>()> attempts_;
  std::function<void(protocol::Progress)> tell_;
  std::map<AttemptKey, Watched> watched_;
  bool is_idle_ = false;  // no task ran when it looked last: nothing can be new
  int idle_looks_ = 0;
  wire::Timer timer_;
};

}  // namespace dove::agent
