// Outbox: the notices that are not delivered yet, when each is tried next, and how each target did.
//
// One host is tried by one thread at a time, and left alone for a while once it hangs, so that it
// holds up its own notices only. Time is handed in; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/result.h"
#include "model/people.h"
#include "notices/notice.h"

namespace dove::notices {

struct Letter {
  std::string id;  // what receivers tell doubles by
  Notice notice;
  NoticeTarget target;
  std::string target_id;
  std::string lane;
  Instant made;
  Instant next;  // not tried before
  int tries = 0;
};

// What came of one try.
struct Attempted {
  enum class Ending { kDelivered, kRetry, kRefused } ending = Ending::kDelivered;
  bool is_hosts_trouble = false;  // no answer at all: others need not try now
  Error error = {};               // without secrets
};

// What is known of a target since it was declared, or since its standing was lost.
struct TargetStanding {
  std::int64_t delivered = 0;
  Instant delivered_at;
  std::int64_t suppressed = 0;  // over the limit of its user, or of the outbox
  std::string error;            // of the last try, if it failed; with its code
  Instant error_at;
};

struct OutboxLimits {
  std::int64_t per_hour = 60;  // for one user
  std::size_t waiting_max = 5'000;
  std::size_t waiting_of_user_max = 500;
  Span give_up = seconds(24 * 3600);  // after so long
};

class Outbox {
 public:
  enum class Added { kYes, kDouble, kSuppressed };
  enum class Settled { kDelivered, kRetried, kRefused, kGivenUp, kUnknown };

  explicit Outbox(OutboxLimits limits, std::uint64_t seed) : limits_(limits), random_(seed) {}

  Added add(Letter letter, Instant now);
  // A notice that is sent outside of the outbox counts too: false when there were too many.
  bool count_one(const std::string& user, Instant now);
  // One that may be tried now, which is then under way; `by_mail`: one for mail, else another.
  std::optional<Letter> take(bool by_mail, Instant now);
  Settled settle(const std::string& id, const Attempted& result, Instant now);
  // Its target is no longer declared.
  void drop(const std::string& id);
  // When take() may give something; kNever: when something else changes.
  Instant next_due() const;

  void note(const std::string& target_id, const Attempted& result, Instant now);
  const TargetStanding* standing(const std::string& target_id) const;
  std::size_t waiting() const { return letters_.size(); }
  std::size_t waiting_for(const std::string& target_id) const;
  Instant oldest() const;  // kNever: none waits

  // -- over restarts
  using FindTarget =
      std::function<std::optional<NoticeTarget>(const std::string& user, const std::string& id)>;
  // Those under way are kept as waiting.
  nlohmann::json keep() const;
  // Targets that are no longer declared are forgotten, as are letters made before `oldest`: a
  // controller that stood by for weeks has some.
  void restore(const nlohmann::json& kept, const FindTarget& find, Instant now, Instant oldest);
  void forget_targets_but(const std::set<std::string>& ids);

 private:
  struct Lane {
    std::set<std::pair<Instant, std::string>> waiting;
    bool busy = false;
    int troubles = 0;  // in a row
    Instant not_before;
  };
  static bool is_mail(const std::string& lane) { return lane == "mail"; }
  void insert(Letter letter);
  void erase(const std::string& id);
  Span backoff(int tries, Span first, Span most);

  const OutboxLimits limits_;
  Random random_;
  std::map<std::string, Letter> letters_;  // by id
  std::map<std::string, Lane> lanes_;
  std::map<std::string, int> under_way_;               // by user
  std::map<std::string, std::size_t> waiting_of_;      // by user
  std::map<std::string, std::deque<Instant>> lately_;  // by user, within an hour
  std::map<std::string, TargetStanding> standings_;    // by target id
  std::set<std::string> settled_;                      // the last ones
  std::deque<std::string> settled_order_;
};

}  // namespace dove::notices
