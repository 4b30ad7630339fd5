// Notice: what one person hears about one thing that happened. It is made of a record of the log
// and the state that the record was folded into.
//
// Pure. What is told twice has the same key twice: a record that an agent repeated, or one that is
// read again after a crash, makes no second notice for whoever compares keys.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"
#include "model/people.h"

namespace dove::notices {

struct Notice {
  NoticeAbout about = NoticeAbout::kJobEnded;
  std::string key;   // "job.7.1.started", the same whenever the same thing is told
  std::string user;  // who is told
  Instant at;        // when it happened
  JobId job;         // none: it is about a node
  AttemptNumber attempt = 0;
  std::string job_name;
  std::string node;
  std::string what;            // "failed", "time_limit", "xid": a word for machines
  std::string why;             // a sentence for people, without its full stop; may be empty
  std::int32_t exit_code = 0;  // of a job that ended
  Instant then;                // when it is to start or to be stopped; 0: at once, or not known
  bool is_test = false;
};

// Those of a record that was folded into `state` (not necessarily last), for people who want them.
std::vector<Notice> notices_of(const core::State& state, Seq seq, Instant at,
                               const StampedEvent& event);
std::vector<Notice> notices_of(const core::State& state, Seq seq, Instant at,
                               const Decision& decision);
// Whether these would look at such a record at all, whoever wants what.
bool is_of_interest(const StampedEvent& event);
bool is_of_interest(const Decision& decision);

// -- what only time brings ------------------------------------------------------------------------

// That the waiting job starts, or the running one reaches its time limit, `soon` from `due` on.
struct Coming {
  Instant due;
  JobId job;
  AttemptNumber attempt = 0;  // of the job's; of a waiting one: the next
  NoticeAbout about = NoticeAbout::kJobStartsSoon;
  auto operator<=>(const Coming&) const = default;
};
// What the record announces; `soon` before it. Jobs that may run for less than twice `soon` are not
// said to be stopped soon.
std::vector<Coming> coming_of(const core::State& state, Span soon, const StampedEvent& event);
std::vector<Coming> coming_of(const core::State& state, Span soon, const Decision& decision);
// The same for all jobs that are promised a start, and for all that run.
std::vector<Coming> coming_of(const core::State& state, Span soon);
// The notice, if what was announced is still so: else none.
std::vector<Notice> notices_of(const core::State& state, Span soon, const Coming& coming);

// What the target hears of the notice; false: nothing. A job that failed is told once to those who
// want both ends and failures.
bool wants(const NoticeTarget& target, const Notice& notice);

// As it is kept and read again. Error kCorrupt bad_notice.
nlohmann::json notice_json(const Notice& notice);
Result<Notice> read_notice(const nlohmann::json& json);

}  // namespace dove::notices
