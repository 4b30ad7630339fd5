#include "backends/native/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "model/incarnation.h"

namespace dove::backends {
namespace {

constexpr std::string_view kLogBehind = "log_head_behind";
constexpr std::string_view kLogRewound = "log_rewound";
constexpr std::size_t kChainsMax = 4096;

std::optional<listener::LogEnd> proven_end(const Agents& agents, const protocol::Machine& machine) {
  return agents.desk.identity.proven_end(Epoch(machine.epoch_seen), Seq(machine.log_head_seen),
                                         machine.head_proof);
}

Error lost(const Agents& agents, std::string_view code, const std::string& what) {
  constexpr const char* kHere =
      "stop the server, say `dove restore --in-place --data DIR`, and start it "
      "(docs/operate/recovery.md)";
  constexpr const char* kShared =
      "stop all controllers, say `dove restore --in-place --store URL`, and start them "
      "(docs/operate/standby.md)";
  return {ErrorKind::kConflict, std::string(code),
          fmt::format("{}. Nothing is accepted, so that no work is run twice. Put back the newer "
                      "data; if they are gone, {}",
                      what, agents.desk.options.log_is_remote ? kShared : kHere),
          ""};
}

}  // namespace

std::optional<Error> behind(const Agents& agents, const std::string& node,
                            const protocol::Machine& machine) {
  const core::State& state = agents.state();
  const std::uint64_t epoch = machine.epoch_seen;
  const auto end = proven_end(agents, machine);
  const std::uint64_t head = std::max(machine.log_head_seen, end ? end->seq.value : 0);
  if (head <= state.head.value && epoch <= state.epoch.value) return std::nullopt;
  if (is_former_incarnation(Epoch(epoch), state.epoch)) return std::nullopt;
  if (!end) {
    return Error{
        ErrorKind::kConflict, "claim_not_proven",
        fmt::format("node {} says that it has seen record {} of term {}, this log ends at record "
                    "{} of term {}, and it does not prove that this controller told it so. Other "
                    "nodes are not affected. If the server's data were restored, or this node was "
                    "of another cluster, see docs/operate/recovery.md; else stop its agent, say "
                    "`dove agent --forget-contact` there, and start it",
                    node, head, epoch, state.head.value, state.epoch.value),
        ""};
  }
  return lost(agents, kLogBehind,
              fmt::format("node {} has seen record {} of term {}, this log ends at record {} of "
                          "term {}: a part of the log is lost, or a newer controller took over",
                          node, head, epoch, state.head.value, state.epoch.value));
}

namespace {

// A takeover brings thousands of claims of the same few records: each is looked up once.
void with_chain(Agents& agents, Seq seq, Agents::WithChain then) {
  if (const auto known = agents.chains.find(seq); known != agents.chains.end()) {
    return then(known->second);
  }
  std::vector<Agents::WithChain>& waiting = agents.chains_asked[seq];
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  const auto found = std::make_shared<Agents::Chain>(std::optional<std::string>());
  agents.log_thread.ask([found, seq](store::LogStore& log) { *found = log.chain_at(seq); },
                        [&agents, found, seq] {
                          const auto asked = agents.chains_asked.extract(seq);
                          if (found->ok()) {
                            if (agents.chains.size() >= kChainsMax) agents.chains.clear();
                            agents.chains.emplace(seq, *found);
                          }
                          for (const Agents::WithChain& each : asked.mapped()) each(*found);
                        });
}

}  // namespace

void check_chain(Agents& agents, const std::string& node, const protocol::Machine& machine,
                 std::function<void(const std::optional<Error>&)> done) {
  const Epoch epoch(machine.epoch_seen);
  const auto end = proven_end(agents, machine);
  // Former versions told no chain.
  if (!end || end->chain.empty() || is_former_incarnation(epoch, agents.state().epoch)) {
    return done(std::nullopt);
  }
  with_chain(
      agents, end->seq,
      [&agents, epoch, node, end = *end, done = std::move(done)](const Agents::Chain& found) {
        if (!found.ok()) return done(found.error());
        const std::optional<std::string>& chain = found.value();
        if (!chain || chain->starts_with(end.chain)) return done(std::nullopt);
        done(lost(agents, kLogRewound,
                  fmt::format("node {} has seen another record {} (of term {}) than this log has: "
                              "a part of the log was lost, and it went on from an earlier record",
                              node, end.seq.value, epoch.value)));
      });
}

bool is_loss(const Error& error) { return error.code == kLogBehind || error.code == kLogRewound; }

bool is_proven(const Agents& agents, const protocol::Machine& machine) {
  return proven_end(agents, machine).has_value();
}

}  // namespace dove::backends
