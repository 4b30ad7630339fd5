// PostgresStore: the log in a PostgreSQL database, for more than one controller.
//
// One transaction per append, in one go (pipeline mode); it begins by holding the row of the leader
// and fails unless that says our epoch. The chain is that of store/sqlite. Controllers share the
// database: one leads, the others read. Whoever leads has a lease, by the clock of the database:
// begin_epoch() fails with kConflict `lease_held` while another's lasts. An append or a term whose
// COMMIT was not answered, or was answered with a warning (it stopped waiting for its synchronous
// standby), fails with kUnavailable `commit_unknown`: neither done nor not done, the term is over.
//
// Any thread may call anything, as LogStore says; appends and terms exclude each other, and
// snapshots and retention use other connections. Every wait has a deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/chain/chain.h"
#include "store/lease.h"
#include "store/log_auditor.h"
#include "store/log_source.h"
#include "store/log_store.h"

namespace dove::store {

class Connection;
class Params;
class Rows;

struct PostgresOptions {
  std::string url;                    // postgres://HOST,HOST/DATABASE
  std::string leads_at;               // where the leader's API is, for those who ask others
  std::int64_t lease_us = 1'500'000;  // how long it lasts unless renewed
  std::string name = {};              // of this controller, as others may name it
  std::string version = {};
  bool only_reads = false;  // open() then makes no tables: kNotFound `no_log` where there are none
};

// `bad_store`, unless it is a URL of PostgreSQL.
Result<void> check_store_url(const std::string& url);
// As leader() and standbys() below, on a connection of the caller's.
Result<LeaderSeen> leader_of(Connection& line, const std::string& own_name);
Result<std::vector<ControllerSeen>> standbys_of(Connection& line, const std::string& own_name);

class PostgresStore : public LogStore,
                      public LogKeeper,
                      public LogAuditor,
                      public LogSource,
                      public Lease,
                      public Standbys {
 public:
  // Creates the tables of an empty database. Errors: `bad_store` (the URL), `store_unreachable`,
  // `store_denied`, `data_newer`.
  static Result<std::unique_ptr<PostgresStore>> open(PostgresOptions options);
  ~PostgresStore() override;  // gives the lease back

  // After the last append or term here; reading does not move it.
  Head head() const override;
  Result<void> append(Epoch epoch, Seq expected_head, const Batch& batch) override;
  // Also fails with kConflict `log_rewound`, when it is read on from where it was read to before
  // and the database has another record there.
  Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit) override;
  Result<std::optional<std::string>> blob(const std::string& sha256) override;
  Result<std::optional<std::string>> chain_at(Seq seq) override;

  Result<Epoch> begin_epoch(const std::string& holder) override;
  Result<void> put_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> latest_snapshot() override;
  Result<void> forget_before(Seq before, const std::vector<std::string>& blobs_in_use) override;

  Result<void> verify(const std::atomic<bool>* stops = nullptr) override;
  Result<std::vector<Error>> damages(const std::atomic<bool>* stops = nullptr) override;
  Result<void> set_aside(const std::string& sha256) override;

  Result<std::string> page(Seq after, Epoch term, std::size_t bytes_max) override;
  Result<std::string> snapshot_piece(Seq of, std::uint64_t offset, std::size_t bytes_max) override;

  // -- terms
  Result<LeaderSeen> leader() override;
  Result<bool> renew() override;
  void release(const std::string& to = "") override;
  bool leads() const override { return epoch().value != 0; }
  Result<void> stands_by(Seq folded, const std::string& says) override;
  Result<std::vector<ControllerSeen>> standbys() override;
  // The log goes on as a new incarnation (model/incarnation.h), with the term after this one, which
  // ends; what is kept of records that are not there goes. The last record. The chain is verified
  // before by whoever calls. Errors: kConflict `epoch_stale` when another leads; kInvalid
  // `restore_too_early` when nothing is left from which the log can be folded.
  Result<Seq> begin_incarnation(std::int64_t now_s);
  // Something that all controllers of a log have in common: what the first one gave; with `mine`
  // that is kept where there is none yet. "": nobody gave any.
  Result<std::string> agreed_keys(const std::string& mine);
  // A text that the leader keeps for whoever leads next; replaces the one of that name. Errors:
  // kConflict `epoch_stale` when this controller does not lead; kNotFound `not_kept`.
  Result<void> keep_text(const std::string& name, const std::string& text);
  Result<std::string> kept_text(const std::string& name);
  const PostgresOptions& options() const { return options_; }
  // Waits until the log or the leader's row has changed, at most that long; `wakes`: readable to
  // return early, -1: none. For one thread.
  void wait_for_news(std::chrono::milliseconds at_most, int wakes);
  // What an acknowledged write does not survive; none: it waits for a second machine.
  Result<std::optional<std::string>> can_be_lost();
  // The database's address where what goes to it leaves this machine without TLS; none: it is safe.
  Result<std::optional<std::string>> open_to();

 private:
  struct Writer;
  class Lent;
  explicit PostgresStore(PostgresOptions options);

  Epoch epoch() const;
  Result<Lent> lend();
  Result<Lent> lend_alive();
  // That of the furthest record read or written here.
  std::optional<Sha256> known_chain(Seq seq) const;
  void know_chain(Seq seq, const Sha256& chain);  // REQUIRES: state_mutex_
  Result<Rows> ask_soon(const char* sql, const Params& params);
  Result<void> open_writer();
  // In the same term, where it was ended while nothing was written.
  Result<void> reopen_writer();    // REQUIRES: writer_mutex_ and a writer
  Result<void> open_lease_line();  // REQUIRES: lease_mutex_
  // REQUIRES: writer_mutex_ and an open writer.
  Result<Epoch> take_lease(const std::string& holder);
  Result<void> note_leaders(Connection& line, Seq head);  // before the leader's row changes
  struct OtherHolders {
    bool ended = false;  // at least one
    std::string left;    // those that were not, for people
  };
  // Ends those sessions of a leader whose lease is over that still hold its row.
  OtherHolders end_other_holders();

  PostgresOptions options_;
  std::mutex writer_mutex_;  // held for each use of writer_
  std::unique_ptr<Writer> writer_;
  std::mutex lease_mutex_;  // of lease_line_
  std::unique_ptr<Connection> lease_line_;
  std::unique_ptr<Connection> news_;  // of the thread that waits for them
  mutable std::mutex state_mutex_;    // of the rest
  Head head_;
  Epoch epoch_;   // ours, 0: none
  Seq known_to_;  // the furthest record read or written here, and its chain
  Sha256 known_chain_{};
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace dove::store
