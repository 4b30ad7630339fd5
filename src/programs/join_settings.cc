#include "programs/join_settings.h"

#include <fmt/format.h>

#include <sstream>

#include "agent/session/contact.h"
#include "agent/session/lease.h"
#include "agent/session/uplink.h"
#include "files/text_file.h"

namespace dove::programs {

std::vector<cli::OptionSpec> join_option_specs() {
  return {
      {"join-token-file", 0, "FILE", "one-time token, for the first start", false},
      {"forget-contact", 0, "",
       "only forget what a former controller told this agent, which is stopped "
       "(`claim_not_proven`)",
       false},
  };
}

Result<std::vector<std::string>> join_tokens(const Settings& given) {
  std::vector<std::string> tokens;
  if (!given.has("join-token-file")) return tokens;
  constexpr std::size_t kTokensMax_bytes = 4 << 20;  // of a fleet that only pretends, a line each
  TRY_ASSIGN(const std::string text,
             files::read_text(given.text("join-token-file", ""), kTokensMax_bytes));
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) tokens.push_back(line);
  return tokens;
}

Result<void> take_join_token(const std::string& text, agent::AgentOptions& options) {
  const std::size_t dot = text.find('.');
  options.join_token = text.substr(0, dot);
  if (dot == std::string::npos) return {};
  if (!options.tls) {
    return Error{ErrorKind::kInvalid, "bad_setting",
                 fmt::format("the join token is of a cluster with TLS: give --url https://{}:{}",
                             options.host, options.port),
                 "--url"};
  }
  options.authority_digest = text.substr(dot + 1);
  return {};
}

std::string how_to_join(const std::string& node) {
  return fmt::format(
      "run `dove join-token create {}` on the server, and give the file with it "
      "as --join-token-file",
      node);
}

Result<void> may_join(const agent::AgentOptions& options) {
  if (!options.join_token.empty()) return {};
  const Result<std::string> token = read_small_file(options.data_dir + "/agent_token");
  if (token.ok() && !token->empty()) return {};
  return Error{ErrorKind::kUnauthenticated, "not_joined",
               "this node has not joined yet: " + how_to_join(options.name), "--join-token-file"};
}

Result<void> forget_contact(const std::string& data_dir) {
  constexpr std::int64_t kDay_us = 86'400'000'000;  // farther ahead it is of a former boot
  TRY_ASSIGN(agent::Contact contact,
             agent::Contact::open(data_dir + "/contact", std::chrono::seconds(0)));
  const std::int64_t left_us = agent::read_lease_us(data_dir + "/lease") - agent::boottime_us();
  if (left_us > 0 && left_us < kDay_us) {
    return Error{ErrorKind::kUnavailable, "tasks_may_run",
                 fmt::format("tasks of this agent may run for another {} s: say it again then",
                             left_us / 1'000'000 + 1),
                 data_dir};
  }
  contact.forget_records();
  agent::Uplink::forget_leader(data_dir);
  return {};
}

}  // namespace dove::programs
