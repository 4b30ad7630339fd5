// Session: this node's session with its controller. It joins, syncs, receives orders, reports, and
// begins anew after any break, for as long as it lives (api/agent-protocol.md).
//
// Guarantees: orders of a past epoch are refused, not carried out; an answer to a former session
// changes nothing; nothing counts as recorded that was not acknowledged; a break is shown to the
// lease (LeaseKeeper) before anything is tried again. It decides nothing about attempts: the Host
// does what orders say. Owned by Agent. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "agent/session/clock_check.h"
#include "agent/session/contact.h"
#include "agent/session/lease_keeper.h"
#include "agent/session/node_certificate.h"
#include "agent/session/node_description.h"
#include "agent/session/port_scout.h"
#include "agent/session/report_queue.h"
#include "agent/session/standing_lines.h"
#include "agent/session/uplink.h"
#include "base/random.h"
#include "base/result.h"
#include "protocol/control.h"
#include "protocol/orders.h"
#include "protocol/session.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::agent {

struct SessionOptions {
  std::string node;
  std::string address;
  std::string boot_id;
  std::string version;
  std::string machine_id;
  std::string data_dir;    // for contact and agent_token
  std::string join_token;  // used when there is no agent token yet
  std::chrono::seconds former_wait{0};
  std::int64_t stream_silence_us = 0;  // an orders stream silent for this long lost its controller
  std::int64_t stream_open_us = 0;     // and so did one that takes this long to open
  std::function<std::int64_t()> wall_us = {};  // unset: the loop's
};

class Session {
 public:
  // All are called on the loop; those that are not said to be unset are there.
  struct Host {
    // What a sync says of attempts. `brings_ends`: of those that are over, too, as the
    // controller's log may have lost them.
    std::function<void(protocol::Sync& sync, bool brings_ends)> held;
    // A digest of what is held, for the controller to compare.
    std::function<std::uint64_t()> placements_hash;
    // An order that is not of a former epoch; `line` is what `text` says.
    std::function<void(const protocol::Order&, const nlohmann::json& line, std::string text)> order;
    std::function<void(const protocol::Control&)> control;
    std::function<void(const std::string& cluster_id)> opened;  // before its orders
    std::function<void()> began;                                // and its orders were carried out
    std::function<void()> ended;                                // it was lost
    std::function<void()> certified;
    std::function<void(Finding)> found;                   // of this node's clock
    std::function<void(const Error&)> join_refused = {};  // for good; unset: tries again
  };

  // `uplink` and `node` outlive it.
  Session(wire::Loop& loop, SessionOptions options, Uplink& uplink, const NodeDescription& node,
          LeaseKeeper::Renew renew, Host host);

  // Takes up what a former life left. Errors: the data directory is another agent's, or cannot be
  // used.
  Result<void> open();
  // Renews the lease from here on, and connects. REQUIRES: open().
  void begin();
  // Tells the controller nothing more.
  void stop();

  bool connected() const { return !id_.empty(); }
  // The controller refuses this node for good (a wrong token): the message says what to do.
  const std::optional<Error>& refused() const { return refused_; }
  ReportQueue& reports() { return reports_; }

 private:
  void connect();
  void connect_later();
  protocol::Machine machine() const;
  void join();
  void joined(const Result<wire::Response>& answer);
  void keep_token();
  void certify();
  void sync();
  Error replaced() const;
  void take_ticket(const protocol::SyncAnswer& answer, std::int64_t sent_us);
  void sync_answered(const Result<wire::Response>& answer, std::int64_t sent_us);
  void synced(const protocol::SyncAnswer& answer, std::int64_t sent_us);
  void open_orders();
  void expect_orders(std::int64_t within_us);
  void watch_silence();
  void on_line(std::string_view line);
  void on_order(const nlohmann::json& line, std::string text);
  protocol::ReportMessage report_message() const;
  void ask();
  void asked(std::int64_t sent_us, const Result<wire::Response>& answer);
  void send_report(std::uint64_t number, std::vector<protocol::Report> batch);
  void reported(std::uint64_t version, std::int64_t sent_us, const Result<wire::Response>& answer);
  void compare_clocks(std::int64_t sent_us, std::int64_t controller_us);
  void heartbeat();
  void orders_closed(const Error& error);
  void ask_leader_again();
  void lost(const Error& error);
  void not_reached(const Error& error);
  void connect_failed(const Error& error);
  std::int64_t outage_from_us() const;  // of an outage that is heard of now
  void controller_full(std::int64_t sent_us);
  std::int64_t backoff_us();

  wire::Loop& loop_;
  const SessionOptions options_;
  Uplink& uplink_;
  const NodeDescription& node_;
  const LeaseKeeper::Renew renew_;
  const Host host_;
  NodeCertificate certificate_;
  StandingLines standing_;
  PortScout scout_;
  ReportQueue reports_;
  std::optional<Contact> contact_;
  std::optional<LeaseKeeper> lease_;  // from open() on
  ClockCheck clock_;
  std::string id_;              // empty: not connected
  std::uint64_t number_ = 0;    // answers that are for a former one are not heard
  std::string ticket_;          // what the next sync is to show; empty: it asks for one
  std::int64_t asked_us_ = 0;   // for the last ticket
  bool knows_tickets_ = false;  // a controller of this life has given one
  bool brings_ends_ = false;    // the next sync; the cluster's log was restored
  std::uint64_t applied_ = 0;   // the last order's record
  Uplink::OwnLine questions_;   // for those whose answer waits for nothing
  bool is_asking_ = false;
  std::unique_ptr<wire::InStream> orders_;
  // The stream of the previous session, which fell silent: open until there is another.
  std::unique_ptr<wire::InStream> silent_orders_;
  std::int64_t orders_due_us_ = 0;    // by then the stream opens, or something comes on it
  std::uint64_t version_synced_ = 0;  // of the description, in the sync under way
  std::uint64_t version_told_ = 0;    // that this session's controller has
  std::int64_t heartbeat_us_ = 2'000'000;
  int failures_ = 0;
  bool is_held_up_ = false;  // somebody took the last attempt, and did not answer in time
  std::optional<Error> refused_;
  bool is_stopped_ = false;
  bool token_is_lost_ = false;         // with this process
  std::chrono::seconds keep_again_{};  // until it is written again
  Random jitter_;
  wire::Timer reconnect_timer_;
  wire::Timer heartbeat_timer_;
  wire::Timer silence_timer_;
  wire::Timer token_timer_;
};

}  // namespace dove::agent
