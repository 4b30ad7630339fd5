// Lease: which of several controllers may write the log that they share, and which stand by.
//
// The leader holds a lease, timed by one clock that all controllers ask. LogKeeper::begin_epoch()
// takes it, and fails with kConflict `lease_held` while another controller's lasts.
// Implementations: store/postgres, and the simulated store of sim/explore; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "model/level.h"

namespace dove::store {

// Whose term it is, as of one instant of the store's clock.
struct LeaderSeen {
  Epoch epoch;  // 0: nobody has led
  std::string holder;
  std::string url;
  std::int64_t left_us;  // of the lease; 0: it is over, and this controller may begin a term
  Seq head;              // of the log
};

// A controller that stands by, as it last said.
struct ControllerSeen {
  std::string name;
  std::string url;
  std::string version;
  Seq folded;
  std::int64_t ago_us;
  std::int32_t level = kFirstLevel;  // the newest that it reads (model/level.h)
  std::string says = {};
};

class Lease {
 public:
  virtual ~Lease() = default;
  virtual Result<LeaderSeen> leader() = 0;
  // The lease lasts from now on again; false: another term has begun. An error may come although it
  // was renewed. REQUIRES: begin_epoch().
  virtual Result<bool> renew() = 0;
  // Others need not wait for its end. What cannot be reached is left: it ends by itself. `to`: that
  // controller alone, for as long as a lease lasts.
  virtual void release(const std::string& to = "") = 0;
  // A term of this process has begun, and was not released.
  virtual bool leads() const = 0;
};

class Standbys {
 public:
  static constexpr std::size_t kSaysMax = 1024;  // it is written every second
  virtual ~Standbys() = default;
  // This controller stands by, and has folded the log up to there. `says`: what it has to tell
  // beyond that, without spaces and at most kSaysMax bytes; the rest is cut off.
  virtual Result<void> stands_by(Seq folded, const std::string& says) = 0;
  // The others that said so in the last day, the most recent first.
  virtual Result<std::vector<ControllerSeen>> standbys() = 0;
};

}  // namespace dove::store
