#include "programs/join_settings.h"

#include <fmt/format.h>

#include <sstream>

#include "files/text_file.h"

namespace dove::programs {

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

}  // namespace dove::programs
