// Identity: who a bearer token belongs to.
//
// The administrator's token, the SSH gateway's and the server's secret lie in the data directory
// (own_keys.h). Once the first was rotated the log says which one it is, by SHA-256, so that all
// controllers know it at once; the file is where people on this machine find it. Users' tokens are
// known by SHA-256 (UserDeclaration), their keys too (Key), agents' by Node, tokens of running jobs
// by HMAC: they speak for the job's user while their attempt is not over. A browser that has signed
// in shows a cookie (session_cookie.h); one that was let in to a job's app is known to the proxy by
// an entry token (entry_token.h), which nothing but this app answers to. Comparisons take the same
// time for every wrong token. Loop thread only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounts/caller.h"
#include "base/result.h"
#include "core/state/state.h"
#include "listener/entry_token.h"
#include "listener/own_keys.h"
#include "wire/http.h"

namespace dove::listener {

using accounts::Caller;

// Where a log ended at some moment: its last record, and the first digits of the chain up to it.
struct LogEnd {
  Seq seq;
  std::string chain;  // "": not known
};

class Identity {
 public:
  // Errors: those of open_own_keys().
  // Where the log has the administrator's token no other one is made.
  static Result<Identity> open(const std::string& data_dir, const core::State& state = {});

  // `now`: the cluster's time (Desk::now()). Errors: kUnauthenticated token_missing, token_invalid,
  // token_expired, key_expired, session_over, user_disabled, entry_over; kDenied cross_origin;
  // kInvalid bad_user.
  Result<Caller> person(const wire::Request& request, const core::State& state, Instant now) const;
  // Who signs in with a token: the administrator's, a user's, a key, or a code. Errors as above;
  // kDenied not_for_jobs.
  Result<Caller> signing_in(std::string_view token, const core::State& state, Instant now) const;
  // Errors: kUnauthenticated token_invalid; kDenied as may_speak().
  Result<Caller> agent(const wire::Request& request, const core::State& state,
                       const std::string& node) const;
  // The SSH gateway, by the token in `ssh_gateway_token`. Error: kUnauthenticated token_invalid.
  Result<Caller> gateway(const wire::Request& request) const;
  // Another token of the administrator's, in the file alone: admin_token() is in force until the
  // log names the other one, and take_admin_token() was called. Error: data_dir.
  Result<void> write_admin_token(const std::string& token);
  void take_admin_token(const std::string& token) { keys_.token = token; }
  const std::string& admin_token() const { return keys_.token; }
  // To be called with each batch that was folded after open(). Whether it has a new token of the
  // administrator's.
  bool committed(const std::vector<StampedEvent>& events);
  // Whether the one in the file is a former one, which lets nobody in. All keys are looked at in
  // open() alone: a log that has a token keeps one.
  bool is_outdated(const core::State& state, Instant now) const;
  // SHA-256 of the request's bearer token, for join tokens. Error: token_missing.
  static Result<std::string> token_digest(const wire::Request& request);

  std::string job_token(JobId job, AttemptNumber attempt) const;
  // For whom `entry` is about; it is good for as long as they may enter the job's app.
  std::string entry_token(const Entry& entry) const;
  // What only this controller can say about a record of its log, which ended with `end` then. An
  // agent that shows it is believed to have heard about the record.
  std::string head_proof(Epoch epoch, Seq head, const LogEnd& end = {}) const;
  // What the log ended with when somebody was told so; none: nobody was.
  std::optional<LogEnd> proven_end(Epoch epoch, Seq head, const std::string& proof) const;
  // For what a browser keeps for us and must not change. The same over restarts.
  std::string seal_key(std::string_view purpose) const;
  // 12 hexadecimal digits, the same for the life of the data directory; no secret.
  std::string cluster_id() const;

 private:
  bool is_administrators(std::string_view token) const;
  Error outdated_token() const;
  std::string head_mac(Epoch epoch, Seq head, const std::string& more) const;
  Result<Caller> job_caller(std::string_view token, const core::State& state) const;
  Result<Caller> entry_caller(std::string_view token, const core::State& state, Instant now) const;

  std::string data_dir_;
  OwnKeys keys_;
  std::string in_file_;     // the token; while one is replaced it differs from what is in force
  bool is_in_log_ = false;  // the administrator's token, since it was rotated
};

// The token of an SSH connection into that job: "dovessh_42_kDIGEST_RANDOM" for the user's SSH key
// of that SHA-256, "dovessh_42_aID_RANDOM" for one that the bearer of an API key registered,
// "dovessh_42_t_RANDOM" for one that another token registered, "_r_" the administrator's. It is a
// key of its own in the state, by the SHA-256 of all of it.
inline constexpr std::string_view kSshTokenPrefix = "dovessh_";
std::string ssh_token_prefix(JobId job, std::string_view by);

// Whether the node's own token is still good for something. Errors: kDenied node_removed,
// node_expelled.
Result<void> may_speak(const core::Node& node);

// kUnauthenticated, for a join token that lets nobody in.
Error join_token_invalid();

// [A-Za-z0-9_][A-Za-z0-9_.@-]*, at most 64 bytes: names of users and nodes.
bool is_name(std::string_view text);

}  // namespace dove::listener
