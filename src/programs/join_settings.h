// How an agent joins: the token that it is given for its first start; and how it forgets what a
// former controller told it.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/result.h"
#include "cli/command.h"
#include "programs/settings.h"

namespace dove::programs {

std::vector<cli::OptionSpec> join_option_specs();

// A line for each agent of --join-token-file; none without it.
Result<std::vector<std::string>> join_tokens(const Settings& given);
// "SECRET", or "SECRET.DIGEST" of a cluster with TLS, which the server is known by. Error
// bad_setting: the agent's URL has no TLS.
Result<void> take_join_token(const std::string& text, agent::AgentOptions& options);
// For messages: what gives `node` a token.
std::string how_to_join(const std::string& node);
// Whether the node has a token to join with, or one from when it joined. Error not_joined.
Result<void> may_join(const agent::AgentOptions& options);

// The agent of this directory will name no record to the next controller, which may be that of
// another cluster, or have another secret: it could not prove one to it. Errors: kConflict
// agent_runs; kUnavailable tasks_may_run, for as long as a fence.
Result<void> forget_contact(const std::string& data_dir);

}  // namespace dove::programs
