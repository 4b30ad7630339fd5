// StandbyReads: the reads that a controller answers while another one leads.
//
// It folds what the leader writes, so it has the same people, rights and objects, and answers from
// them under the same rules. It changes nothing. What only the leader knows is refused, with the
// address of the leader: what agents and people's connections reported, and names and tokens that
// are unknown here, because the leader may know them by now. Each answer names the last record that
// it reflects. A request that names a record (Dove-Log-Head) waits until it is here, for 2 s at
// most (503 `standby_behind`).
//
// It listens nowhere: the program gives it requests. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "controller/controller.h"
#include "listener/refusal_tally.h"
#include "store/log_store.h"
#include "wire/loop.h"
#include "wire/responder.h"

namespace dove::server {

struct StandbyOptions {
  std::string data_dir;  // with the keys of the cluster's controllers
  std::string version = {};
  std::string public_url = {};                                // as in ApiOptions
  std::string sessions_url = {};                              // as in ApiOptions
  std::function<Error()> not_leader;                          // who leads, as of now
  std::function<std::string()> leader_url;                    // "": nobody is known to
  std::int64_t count_every_us = 5'000'000;                    // as in ApiOptions
  std::shared_ptr<listener::RefusalTally> refused = nullptr;  // as in DeskOptions
};

class StandbyReads {
 public:
  // Goes on from `folded`. REQUIRES: `controller` is not running; all outlive it, but for state().
  // Errors: data_dir, key_damaged, bad_identity_key.
  static Result<std::unique_ptr<StandbyReads>> make(wire::Loop& loop, StandbyOptions options,
                                                    controller::Controller& controller,
                                                    store::LogStore& log, core::State folded);
  ~StandbyReads();
  StandbyReads(const StandbyReads&) = delete;
  StandbyReads& operator=(const StandbyReads&) = delete;

  // The next batch of the log.
  void fold(std::shared_ptr<const controller::CommittedBatch> batch);
  // Whether it is one of its reads, or for a file of the console: then it is answered, now or
  // later, and both are moved from.
  bool answer(wire::Request& request, std::shared_ptr<wire::Responder>& responder);
  // What would go wrong if this controller led, for its administrator; "": nothing is known.
  std::string trouble();
  // The log cannot be followed any more, or this controller begins to lead: ends streams, and
  // answers what waits. May be called again.
  void let_go();

 private:
  struct Impl;
  explicit StandbyReads(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Whether that operation of api/openapi.yaml is answered by a controller that stands by, too.
bool is_standby_read(std::string_view operation);

// 503, with whom to ask and when.
wire::Response refused_by_standby(const Error& why, const std::string& leader_url);

}  // namespace dove::server
