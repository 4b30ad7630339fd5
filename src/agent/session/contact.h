// Contact: what an agent must still know about its controller after being killed and restarted.
//
// It holds until when the controller counts on the node (CLOCK_BOOTTIME, so that a restart does not
// lengthen the grace), what was agreed on, the boot in which that was, the last record that the
// agent heard about, with the controller's proof, and how the clocks of the machine stood, so that
// a restart does not hide that it was paused. It is kept in one small file that is overwritten
// in place, with a digest. A power failure may lose it, and a new boot ends all tasks anyway. A
// later version may append to it, with a digest of its own, and leaves everything before that
// unchanged: this version then reads what it knows. The open file is locked: one agent per data
// directory. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace dove::agent {

class Contact {
 public:
  // What LeaseKeeper has seen of the clocks in this boot.
  struct Clocks {
    std::int64_t ahead_us = 0;      // the wall clock, of CLOCK_BOOTTIME
    std::int64_t missed_us = 0;     // time that passed for others alone, since the last answer
    std::int64_t missed_at_us = 0;  // when that was seen last
    bool operator==(const Clocks&) const = default;
  };

  // Reads `path`, or begins with nothing when there is none, or it was torn. Errors: kConflict when
  // another agent has it open for as long as `wait` (it blocks), kInternal when it cannot be
  // written.
  static Result<Contact> open(const std::string& path, std::chrono::seconds wait);
  Contact(Contact&& other) noexcept;
  Contact& operator=(Contact&&) = delete;
  ~Contact();

  std::int64_t heard_at_us() const { return facts_.heard_at_us; }  // 0: never
  std::int64_t fence_us() const { return facts_.fence_us; }        // 0: not known
  std::int64_t disconnect_grace_us() const { return facts_.disconnect_grace_us; }
  std::int64_t outage_grace_us() const { return facts_.outage_grace_us; }
  std::uint64_t epoch() const { return facts_.epoch; }
  std::uint64_t log_head() const { return facts_.log_head; }
  std::string proof() const { return facts_.proof; }
  // The boot in which the last session began; "": there was none.
  std::string boot_id() const { return facts_.boot_id; }
  // It was seen that the controller's process is down, and there was no session since.
  bool knows_outage() const { return facts_.outage_at_us != 0; }
  // Whether the controller, or the next one, counts on this agent so long after.
  bool in_outage_grace(std::int64_t now_us) const;

  // Nothing: in this boot none were noted.
  const std::optional<Clocks>& clocks() const { return clocks_; }
  void note(const Clocks& clocks);

  // A message sent at that instant was answered, so the controller has heard of us since.
  void heard(std::int64_t boottime_us);
  // Records are believed in order of terms; one without a proof is not kept.
  void saw(std::uint64_t epoch, std::uint64_t log_head, const std::string& proof);
  void agreed(std::int64_t fence_us, std::int64_t disconnect_grace_us,
              std::int64_t outage_grace_us);
  void outage(std::int64_t boottime_us);
  // A controller that answered what was sent at that instant may take what is sent now for a
  // session, and count from here on as in one; or not take it, and count as before. `missed_us`:
  // time that has passed since the outage began and is not in these instants.
  void may_be_heard(std::int64_t boottime_us, std::int64_t missed_us);
  // In `boot_id` there is a session.
  void lives_in(const std::string& boot_id);
  // The records that it heard about are not those of the controller that it will hear; tasks and
  // the time that they may run are as they were.
  void forget_records();
  // Instants of another boot mean nothing.
  void begin_boot(const std::string& boot_id);

 private:
  struct Facts {
    std::int64_t heard_at_us = 0;
    std::int64_t fence_us = 0;
    std::int64_t disconnect_grace_us = 0;
    std::uint64_t epoch = 0;
    std::uint64_t log_head = 0;
    // Up to here it is what former versions wrote.
    std::int64_t outage_grace_us = 0;
    std::int64_t outage_at_us = 0;
    char proof[64] = {};
    char boot_id[264] = {};
  };
  struct Stored;
  explicit Contact(int fd) : fd_(fd) {}
  void read();
  void keep();

  int fd_ = -1;
  Facts facts_;
  std::optional<Clocks> clocks_;
};

}  // namespace dove::agent
