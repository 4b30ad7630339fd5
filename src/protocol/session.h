// How an agent's session begins and goes on (api/agent-protocol.md, joining, session, reports).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "model/node.h"
#include "protocol/attempt.h"
#include "protocol/reports.h"

namespace dove::protocol {

inline constexpr std::int64_t kVersion = 1;
inline constexpr std::size_t kNotEnforced_bytes = 1024;

// What a machine says of itself when it joins and when it syncs.
struct Machine {
  std::string boot_id;
  std::string address;
  std::string version;  // of dove
  std::string machine_id;
  std::string former_boot_id;  // in which the ledger last saw it
  std::uint64_t epoch_seen = 0;
  std::uint64_t log_head_seen = 0;
  std::string head_proof;  // the controller's, of both
  Inventory inventory;
};

struct Join {
  std::int64_t protocol = kVersion;
  std::string name;
  std::string key;  // SHA-256 of the SubjectPublicKeyInfo of its key, hexadecimal; "": it has none
  Machine machine;
};

struct JoinAnswer {
  NodeId node;
  std::string agent_token;
  std::string cluster;
};

enum class ActiveStage { kPrepared, kStarted, kEnded };

// What the agent reports of a placement, from its preparation until its end is recorded.
struct ActivePlacement {
  AttemptKey key;
  ActiveStage stage = ActiveStage::kPrepared;
  std::vector<TaskExit> exits;
  std::string launch_failed;  // why, when it ended without having started
  std::int64_t cpu_us = 0;
  std::int64_t memory_peak_bytes = 0;
  std::int64_t started_ago_us = 0;  // by the agent's clock; 0: nothing was started, or not known
};

struct StepKey {
  JobId job;
  AttemptNumber attempt = 0;
  std::int32_t step = 0;
  auto operator<=>(const StepKey&) const = default;
};

// What tasks may have there beyond the inventory.
struct ContainerOffer {
  bool pulls = false;
  bool names_all = false;  // there are no more images than these
  std::vector<std::string> images;
};

struct Offer {
  bool limits_memory = true;
  std::optional<ContainerOffer> containers;  // unset: none run there
  bool gives_secrets = false;                // agents of before do not know them
};

struct Sync {
  std::int64_t protocol = kVersion;
  std::string ticket;  // of the answer that this sync was asked for with; "": none
  std::int64_t agent_pid = 0;
  std::int32_t preflight_port = 0;  // where its RingHub listens; 0: it has none
  std::string not_enforced;         // limits that tasks do not have there, and why
  std::optional<Offer> offer;       // unset: it does not say
  Machine machine;
  std::vector<ActivePlacement> placements;
  std::vector<StepKey> steps;  // whose tasks run there
};

struct SyncAnswer {
  std::string ticket;  // not "": sync again with it; no other fields are set but the next three
  std::string session;
  std::uint64_t epoch = 0;
  std::optional<std::int64_t> waits_us;  // with a ticket: see api/agent-protocol.md
  std::int64_t sync_after_us = 0;        // likewise
  std::uint64_t log_head = 0;
  std::string proof;
  std::uint64_t after = 0;  // the record that `orders` goes up to
  std::int64_t fence_us = 0;
  std::int64_t disconnect_grace_us = 0;
  std::int64_t outage_grace_us = 0;
  std::int64_t heartbeat_us = 0;
  std::string cluster;
  std::string cluster_id;
  std::vector<std::string> orders;    // lines: all that the ledger wants of the node
  std::vector<AttemptKey> forget;     // ends that are durably recorded
  std::vector<std::string> expelled;  // nodes whose certificates are to be refused
};

// A heartbeat, with what there is to say.
struct ReportMessage {
  std::string session;
  std::uint64_t number = 0;   // counts up within the session
  std::uint64_t applied = 0;  // the last order's
  std::uint64_t epoch_seen = 0;
  std::uint64_t log_head_seen = 0;
  std::string placements_hash;              // 16 hexadecimal digits
  std::optional<Inventory> inventory;       // when it changed
  std::optional<std::string> not_enforced;  // likewise
  std::optional<Offer> offer;               // likewise
  std::vector<Report> reports;
};

struct ReportAnswer {
  std::uint64_t acked = 0;
  std::uint64_t log_head = 0;
  std::uint64_t epoch = 0;
  std::string proof;
  std::int64_t now_us = 0;  // by the controller's clock
  bool resync = false;
};

// A secret of a job, for its tasks on one node: in a variable, in a file, or both.
struct GivenSecret {
  std::string variable;
  std::string file;
  std::string value;  // as base64: it may be any bytes
};

struct GivenSecrets {
  std::vector<GivenSecret> secrets;
};

// What each end writes, and what the other reads. Errors: malformed_message; protocol_unsupported
// for a join or sync of another version.
std::string join_text(const Join& join);
std::string sync_text(const Sync& sync);
std::string report_message_text(const ReportMessage& message);
Result<JoinAnswer> read_join_answer(const nlohmann::json& json);
Result<SyncAnswer> read_sync_answer(const nlohmann::json& json);
Result<ReportAnswer> read_report_answer(const nlohmann::json& json);
Result<GivenSecrets> read_given_secrets(const nlohmann::json& json);

Result<Join> read_join(const nlohmann::json& json);
Result<Sync> read_sync(const nlohmann::json& json);
Result<ReportMessage> read_report_message(const nlohmann::json& json);
std::string join_answer_text(const JoinAnswer& answer);
std::string sync_answer_text(const SyncAnswer& answer);
std::string report_answer_text(const ReportAnswer& answer);
std::string given_secrets_text(const GivenSecrets& given);

}  // namespace dove::protocol
