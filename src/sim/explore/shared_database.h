// SharedDatabase: the log that several simulated controllers share, as store/postgres has it, and
// SharedLog: one process's way to it.
//
// One row of the database names the leader and says until when its lease lasts, by the database's
// clock. A term begins only when that lease is over, and an append is durable only under the newest
// epoch and at the head that it expects, whenever it arrives. Its faults: nobody reaches it for a
// while; a synchronous standby of it takes over, which loses nothing but the connections; a process
// is cut off from it; an append, a renewal or a term is not answered, and happened all the same, or
// not, or happens a moment later. Each call is of one instant of virtual time. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/explore/agenda.h"
#include "store/lease.h"
#include "store/log_store.h"

namespace dove::sim {

class SharedLog;

class SharedDatabase {
 public:
  // All outlive it.
  SharedDatabase(Agenda& agenda, store::LogStore& records, store::LogKeeper& keeper,
                 std::int64_t lease_us, std::uint64_t seed)
      : agenda_(agenda), records_(records), keeper_(keeper), lease_us_(lease_us), random_(seed) {}

  // Called with each batch once it is durable, before its writer knows, which may not be there any
  // more when it `is_late`.
  using Durable = std::function<void(const store::Batch&, bool is_late)>;
  void on_durable(Durable fn) { durable_ = std::move(fn); }
  // A term has begun.
  void on_term(std::function<void(Epoch)> fn) { term_ = std::move(fn); }

  void set_away(bool is_away) { away_ = is_away; }
  // Connections are lost; an append that was under way happened or not.
  void fail_over();
  // What becomes of the next `times` appends, of a renewal, of a term.
  enum class Fault { kNone, kNotDone, kDone, kDoneLater, kFull };
  void next_append(Fault fault, int times = 1);
  void next_renewal_unanswered() { renewal_unanswered_ = true; }
  void next_term_unanswered() { term_unanswered_ = true; }

  std::int64_t lease_us() const { return lease_us_; }
  Epoch newest_epoch() const { return epoch_; }
  std::uint64_t appends_unanswered() const { return unanswered_; }
  // The log itself, for whoever checks it.
  store::LogStore& records() { return records_; }
  store::LogKeeper& keeper() { return keeper_; }

 private:
  friend class SharedLog;
  struct Row {  // who leads
    std::string holder;
    std::string url;
    std::int64_t until_us = 0;
  };
  struct Handed {
    std::string name;
    std::int64_t until_us = 0;
  };
  struct Standby {
    std::string url;
    Seq folded;
    std::int64_t seen_us = 0;
    std::string says = {};
  };
  struct UnderWay {  // of a connection that was lost
    Epoch epoch;
    Seq expected_head;
    store::Batch batch;
  };
  Result<void> commit(Epoch epoch, Seq expected_head, const store::Batch& batch);
  void settle(bool happens);
  void tell_news();

  Agenda& agenda_;
  store::LogStore& records_;
  store::LogKeeper& keeper_;
  const std::int64_t lease_us_;
  Random random_;
  Epoch epoch_;
  Row row_;
  Handed handed_;
  std::map<std::string, Standby> standbys_;
  std::optional<UnderWay> under_way_;
  bool away_ = false;
  std::uint64_t incarnation_ = 1;  // connections of an earlier one are over
  Fault fault_ = Fault::kNone;
  int faults_ = 0;
  bool renewal_unanswered_ = false;
  bool term_unanswered_ = false;
  std::uint64_t unanswered_ = 0;
  std::vector<SharedLog*> open_;
  Durable durable_;
  std::function<void(Epoch)> term_;
};

// As PostgresStore is for a process. Dropping it gives nothing back: the process was killed.
class SharedLog : public store::LogStore,
                  public store::LogKeeper,
                  public store::Lease,
                  public store::Standbys {
 public:
  // `cut`: whether the machine does not reach the database. Both outlive it.
  SharedLog(SharedDatabase& database, const bool& cut, std::string name, std::string url);
  ~SharedLog() override;
  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;

  // Called when the log or the lease has changed, from within the call that changes it.
  void on_news(std::function<void()> fn) { news_ = std::move(fn); }

  store::Head head() const override { return head_; }
  Result<void> append(Epoch epoch, Seq expected_head, const store::Batch& batch) override;
  Result<void> read(Seq after, const std::function<bool(const store::Batch&)>& visit) override;
  Result<std::optional<std::string>> blob(const std::string& sha256) override;

  Result<Epoch> begin_epoch(const std::string& holder) override;
  Result<void> put_snapshot(const store::Snapshot& snapshot) override;
  Result<std::optional<store::Snapshot>> latest_snapshot() override;
  Result<void> forget_before(Seq before, const std::vector<std::string>& blobs_in_use) override;

  Result<store::LeaderSeen> leader() override;
  Result<bool> renew() override;
  void release(const std::string& to = "") override;
  bool leads() const override { return epoch_.value != 0; }
  Result<void> stands_by(Seq folded, const std::string& says) override;
  Result<std::vector<store::ControllerSeen>> standbys() override;

  Epoch epoch() const { return epoch_; }

 private:
  friend class SharedDatabase;
  Result<void> reach() const;
  std::int64_t left_us() const;

  SharedDatabase& database_;
  const bool& cut_;
  const std::string name_;
  const std::string url_;
  store::Head head_;
  Epoch epoch_;                    // ours, 0: none
  Epoch newest_epoch_;             // that this process began
  std::uint64_t incarnation_ = 0;  // of the database, that the writer's connection is to
  std::function<void()> news_;
};

}  // namespace dove::sim
