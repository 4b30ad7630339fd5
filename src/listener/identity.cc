#include "listener/identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "accounts/access.h"
#include "listener/session_cookie.h"
#include "wire/secret.h"

namespace dove::listener {
namespace {

constexpr std::size_t kMacChars = 32;
constexpr std::size_t kChainChars = 16;

Result<std::string_view> bearer(const wire::Request& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view header = request.header("Authorization");
  if (header.size() <= kScheme.size() || header.substr(0, kScheme.size()) != kScheme) {
    return Error{ErrorKind::kUnauthenticated, "token_missing",
                 "send a token as `Authorization: Bearer ...`; the administrator's lies in the "
                 "file `token` of the server's data directory",
                 "Authorization"};
  }
  return header.substr(kScheme.size());
}

// Root, or the user of the server, on its own machine: by the kernel's word, unless a token speaks
// for somebody else.
bool is_administrators_own(const wire::Request& request) {
  if (!request.peer_identity.starts_with("unix:")) return false;
  if (!request.header("Authorization").empty()) return false;
  return request.peer_identity == "unix:0" ||
         request.peer_identity == fmt::format("unix:{}", ::geteuid());
}

Error wrong_token() {
  return Error{ErrorKind::kUnauthenticated, "token_invalid",
               "this token is not known here; ask the administrator for a new one",
               "Authorization"};
}

Caller administrator() {
  Caller caller;
  caller.user = "admin";
  caller.admin = caller.is_root = true;
  return caller;
}

Error token_expired(const std::string& user) {
  return Error{ErrorKind::kUnauthenticated, "token_expired",
               fmt::format("the token of {0} has expired; ask an administrator for a new one "
                           "(`dove token create {0}`)",
                           user),
               "Authorization"};
}

Error ended(const Key& key) {
  if (accounts::is_rotated_token(key)) return wrong_token();
  if (key.kind != KeyKind::kKey) {
    return Error{ErrorKind::kUnauthenticated, "session_over",
                 "this session or code has ended; sign in again", "Authorization"};
  }
  return Error{ErrorKind::kUnauthenticated, "key_expired",
               fmt::format("key {} (\"{}\") of {} has expired; make another with `dove key create`",
                           key.id, key.name, key.user),
               "Authorization"};
}

// The user is looked at now: who was an administrator when the key was made need not be one.
Result<Caller> user_caller(const std::string& name, const core::State& state) {
  Caller caller;
  caller.user = name;
  if (accounts::refresh(state, caller)) return caller;
  if (!state.users.contains(name)) return wrong_token();
  return Error{ErrorKind::kUnauthenticated, "user_disabled",
               fmt::format("user {} is disabled here; ask an administrator", name),
               "Authorization"};
}

Result<Caller> key_caller(const Key& key, const core::State& state, Instant now) {
  if (key.expires_at <= now) return ended(key);
  Caller caller;
  if (key.is_administrators) {
    caller = administrator();
    if (!accounts::is_rotated_token(key)) caller.user = key.user;
  } else {
    TRY_ASSIGN(caller, user_caller(key.user, state));
  }
  caller.key = key.id;
  caller.scope = key.scope;
  return caller;
}

Result<Caller> session_caller(const wire::Request& request, std::string_view secret,
                              const core::State& state, Instant now) {
  const auto session = state.keys.find(wire::sha256_hex(secret));
  if (session == state.keys.end() || session->second.kind != KeyKind::kSession) {
    return Error{ErrorKind::kUnauthenticated, "session_over",
                 "this session has ended; sign in again", "Cookie"};
  }
  TRY(check_origin(request));
  return key_caller(session->second, state, now);
}

// "42_kDIGEST_..." behind the prefix. What it says is as the server wrote it: the state knows the
// digest of all of it.
Result<Caller> ssh_caller(std::string_view token, const Key& key, const core::State& state,
                          Instant now) {
  TRY_ASSIGN(Caller caller, key_caller(key, state, now));
  caller.admin = caller.is_root = false;
  caller.standing = {};
  token.remove_prefix(kSshTokenPrefix.size());
  std::uint64_t job = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), job);
  token.remove_prefix(static_cast<std::size_t>(end - token.data()));
  if (error != std::errc() || job == 0 || token.size() < 2) return wrong_token();
  caller.ssh.job = JobId(job);
  const char kind = token[1];
  token.remove_prefix(2);
  const std::string_view by = token.substr(0, token.find('_'));
  if (kind == 'a') caller.ssh.opened_by = by;
  if (kind == 'r') caller.ssh.is_roots = true;
  const auto user = state.users.find(caller.user);
  if (kind == 'k' && user != state.users.end()) {
    for (const std::string& line : user->second.ssh_keys) {
      const std::string_view body = accounts::ssh_key_body(line);
      if (wire::sha256_hex(body) == by) caller.ssh.key = body;
    }
  }
  const bool is_gone = (kind == 'k' && caller.ssh.key.empty()) || !accounts::refresh(state, caller);
  if (!is_gone) return caller;
  return Error{ErrorKind::kUnauthenticated, "ssh_key_over",
               "the key that let this SSH connection in was removed; connect with another one", ""};
}

// Its agent has the token, too.
bool is_on_expelled(const core::State& state, const core::Attempt& attempt) {
  return std::any_of(attempt.placements.begin(), attempt.placements.end(),
                     [&](const core::PlacementRecord& record) {
                       const core::Node* node = state.find_node(record.placement->node);
                       return node != nullptr && core::is_expelled(*node);
                     });
}

// By a token of their own, which no '.' is in.
Result<Caller> token_caller(std::string_view token, const core::State& state, Instant now,
                            bool signs_in) {
  const std::string digest = wire::sha256_hex(token);
  if (const auto key = state.keys.find(digest); key != state.keys.end()) {
    const KeyKind kind = key->second.kind;
    if (token.starts_with(kSshTokenPrefix)) {
      return signs_in ? Result<Caller>(wrong_token()) : ssh_caller(token, key->second, state, now);
    }
    const bool is_good = kind == KeyKind::kKey || (signs_in && kind == KeyKind::kCode);
    return is_good ? key_caller(key->second, state, now) : Result<Caller>(wrong_token());
  }
  for (const auto& [name, user] : state.users) {
    if (!user.token_sha256.empty() && wire::equal_constant_time(user.token_sha256, digest)) {
      const Instant ends = user.token_expires_at;
      if (ends.us != 0 && ends <= now) return token_expired(name);
      return user_caller(name, state);
    }
  }
  return wrong_token();
}

}  // namespace

std::string ssh_token_prefix(JobId job, std::string_view by) {
  return fmt::format("{}{}_{}_", kSshTokenPrefix, job.value, by);
}

Result<void> may_speak(const core::Node& node) {
  if (core::is_expelled(node)) {
    return Error{ErrorKind::kDenied, "node_expelled",
                 fmt::format("node {0} was expelled by {1}, and its token is void. Once its "
                             "machine can be trusted again, empty the agent's data directory and "
                             "let it join anew (`dove join-token create {0}`)",
                             node.name, node.request.who),
                 ""};
  }
  if (!node.removed) return {};
  return Error{
      ErrorKind::kDenied, "node_removed",
      fmt::format("node {} was removed; let it join again with a new join token", node.name), ""};
}

Error join_token_invalid() {
  return Error{ErrorKind::kUnauthenticated, "join_token_invalid",
               "this join token is not known, was used, has expired, or is for another node; get a "
               "new one with `dove join-token create`",
               "Authorization"};
}

bool is_name(std::string_view text) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (text.empty() || text.size() > 64 || !is_word(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_word(c) || c == '.' || c == '-' || c == '@'; });
}

Result<Identity> Identity::open(const std::string& data_dir, const core::State& state) {
  Identity identity;
  identity.data_dir_ = data_dir;
  TRY_ASSIGN(identity.keys_, open_own_keys(data_dir, state));
  identity.in_file_ = identity.keys_.token;
  identity.is_in_log_ = accounts::has_administrators_token(state);
  return identity;
}

Result<Caller> Identity::person(const wire::Request& request, const core::State& state,
                                Instant now) const {
  const bool is_local = is_administrators_own(request);
  std::string_view token;
  if (!is_local) {
    const auto session = session_of(request);
    if (session.has_value() && request.header("Authorization").empty()) {
      return session_caller(request, *session, state, now);
    }
    TRY_ASSIGN(token, bearer(request));
  }
  if (is_entry_token(token)) return entry_caller(token, state, now);
  Caller caller;
  if (is_local) {
    caller = administrator();
  } else if (is_administrators(token)) {
    caller = administrator();
    caller.file_token = wire::sha256_hex(token);
  } else if (token.find('.') != std::string_view::npos) {
    return job_caller(token, state);
  } else {
    Result<Caller> found = token_caller(token, state, now, false);
    if (!found.ok() && is_outdated(state, now) && wire::equal_constant_time(token, keys_.token)) {
      return outdated_token();
    }
    TRY_ASSIGN(caller, std::move(found));
  }
  // What the token let in is whom it was let in as.
  const Key* key = accounts::find_key(state, caller.key);
  if (!caller.is_root || (key != nullptr && !accounts::is_rotated_token(*key))) return caller;
  const std::string_view user = request.header("X-Dove-User");
  if (!user.empty() && !is_name(user)) {
    return Error{ErrorKind::kInvalid, "bad_user",
                 "X-Dove-User is a user's name: letters, digits and _.-@, at most 64",
                 "X-Dove-User"};
  }
  if (!user.empty()) caller.user = user;
  return caller;
}

Result<Caller> Identity::signing_in(std::string_view token, const core::State& state,
                                    Instant now) const {
  if (is_administrators(token)) return administrator();
  if (token.find('.') != std::string_view::npos) {
    TRY(job_caller(token, state));
    return Error{ErrorKind::kDenied, "not_for_jobs",
                 "the token of a running job signs nobody in; use your own token or key", "token"};
  }
  return token_caller(token, state, now, true);
}

// By the file, which counts for as long as no token was rotated.
bool Identity::is_administrators(std::string_view token) const {
  return !keys_.token.empty() && wire::equal_constant_time(token, keys_.token) && !is_in_log_;
}

Result<void> Identity::write_admin_token(const std::string& token) {
  TRY(keep_token(data_dir_, token));
  in_file_ = token;
  return {};
}

bool Identity::committed(const std::vector<StampedEvent>& events) {
  const bool has_one = std::any_of(events.begin(), events.end(), [](const StampedEvent& event) {
    const auto* issued = std::get_if<KeyIssued>(&event.event);
    return issued != nullptr && accounts::is_administrators_token(issued->key);
  });
  is_in_log_ = is_in_log_ || has_one;
  return has_one;
}

bool Identity::is_outdated(const core::State& state, Instant now) const {
  if (in_file_.empty() || !is_in_log_) return false;
  const auto key = state.keys.find(wire::sha256_hex(in_file_));
  return key == state.keys.end() || key->second.expires_at <= now;
}

Error Identity::outdated_token() const {
  return Error{ErrorKind::kUnauthenticated, "token_invalid",
               fmt::format("the administrator's token was changed by `dove token rotate`, and the "
                           "file {}/token has a former one: put the new one there (it has a copy "
                           "where it was changed), or remove the file; on that machine root and "
                           "the server's user need none",
                           data_dir_),
               "Authorization"};
}

// "<job>.<attempt>.<HMAC>"; the other tokens have no '.'.
Result<Caller> Identity::job_caller(std::string_view token, const core::State& state) const {
  std::uint64_t id = 0;
  AttemptNumber number = 0;
  const char* end = token.data() + token.size();
  const auto job_end = std::from_chars(token.data(), end, id);
  if (job_end.ec != std::errc() || job_end.ptr == end) return wrong_token();
  const auto attempt_end = std::from_chars(job_end.ptr + 1, end, number);
  if (attempt_end.ec != std::errc()) return wrong_token();
  if (!wire::equal_constant_time(token, job_token(JobId(id), number))) return wrong_token();
  const core::Job* job = state.find_job(JobId(id));
  if (job == nullptr || job->phase != JobPhase::kActive || job->attempts.empty() ||
      job->attempts.back().number != number || is_on_expelled(state, job->attempts.back())) {
    return Error{ErrorKind::kUnauthenticated, "token_over",
                 "this token was of an attempt that is over", "Authorization"};
  }
  Caller caller;
  caller.user = job->spec->user;
  caller.standing = core::standing_of(state, caller.user);
  caller.job = JobId(id);
  caller.attempt = number;
  return caller;
}

std::string Identity::job_token(JobId job, AttemptNumber attempt) const {
  const std::string mac =
      wire::hmac_sha256_hex(keys_.secret, fmt::format("job/{}/{}", job.value, attempt));
  return fmt::format("{}.{}.{}", job.value, attempt, mac);
}

std::string Identity::entry_token(const Entry& entry) const {
  return write_entry_token(entry, seal_key("entry"));
}

// Everything that let them in must still be there: their user, their session, the share, the job.
Result<Caller> Identity::entry_caller(std::string_view token, const core::State& state,
                                      Instant now) const {
  const std::optional<Entry> entry = read_entry_token(token, seal_key("entry"));
  if (!entry) return wrong_token();
  Caller caller;
  caller.user = entry->user;
  caller.key = entry->key;
  caller.admin = caller.is_root = entry->is_root;
  caller.entry = entry->job;
  caller.entry_ends = entry->ends;
  if (entry->ends > now && accounts::refresh(state, caller)) return caller;
  return Error{ErrorKind::kUnauthenticated, "entry_over",
               "this way in to the job's app has ended: it was for some hours, or the job is over, "
               "or you may not enter it any more; open it again",
               "Authorization"};
}

// The MAC, and then what it is over besides epoch and head: ".RECORDS AFTER IT.CHAIN". Former
// versions wrote the MAC alone. An agent keeps 63 characters.
std::string Identity::head_proof(Epoch epoch, Seq head, const LogEnd& end) const {
  std::string more;
  if (!end.chain.empty()) {
    more = fmt::format(".{}.{}", end.seq.value - head.value, end.chain.substr(0, kChainChars));
  }
  return head_mac(epoch, head, more) + more;
}

std::optional<LogEnd> Identity::proven_end(Epoch epoch, Seq head, const std::string& proof) const {
  const std::string more = proof.substr(std::min(proof.size(), kMacChars));
  if (!wire::equal_constant_time(proof, head_mac(epoch, head, more) + more)) return std::nullopt;
  if (more.empty()) return LogEnd{head, ""};
  const std::size_t dot = more.rfind('.');
  std::uint64_t after = 0;
  std::from_chars(more.data() + 1, more.data() + dot, after);
  return LogEnd{Seq(head.value + after), more.substr(dot + 1)};
}

std::string Identity::head_mac(Epoch epoch, Seq head, const std::string& more) const {
  return wire::hmac_sha256_hex(keys_.secret,
                               fmt::format("head/{}/{}{}", epoch.value, head.value, more))
      .substr(0, kMacChars);
}

std::string Identity::seal_key(std::string_view purpose) const {
  return wire::hmac_sha256_hex(keys_.secret, fmt::format("seal/{}", purpose));
}

std::string Identity::cluster_id() const {
  return wire::hmac_sha256_hex(keys_.secret, "cluster-id").substr(0, 12);
}

Result<std::string> Identity::token_digest(const wire::Request& request) {
  TRY_ASSIGN(const std::string_view token, bearer(request));
  return wire::sha256_hex(token);
}

Result<Caller> Identity::gateway(const wire::Request& request) const {
  TRY_ASSIGN(const std::string_view token, bearer(request));
  if (!wire::equal_constant_time(token, keys_.ssh_gateway_token)) return wrong_token();
  Caller caller;
  caller.user = "ssh-gateway";
  return caller;
}

Result<Caller> Identity::agent(const wire::Request& request, const core::State& state,
                               const std::string& node) const {
  TRY_ASSIGN(const std::string digest, token_digest(request));
  const core::Node* found = state.find_node(node);
  if (found == nullptr || found->agent_token_sha256.empty() ||
      !wire::equal_constant_time(found->agent_token_sha256, digest)) {
    return Error{ErrorKind::kUnauthenticated, "token_invalid",
                 fmt::format("this is not the token of node {}; let it join again with a new join "
                             "token (`dove join-token create {}`)",
                             node, node),
                 "Authorization"};
  }
  TRY(may_speak(*found));
  Caller caller;
  caller.user = "agent:" + node;
  caller.node = found->id;
  return caller;
}

}  // namespace dove::listener
