#include "core/state/executors/conflicts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/state/executors/foreign.h"
#include "core/state/executors/placeholders.h"
#include "core/state/health.h"

namespace dove::core {
namespace {

// By name, of one device.
struct Holders {
  std::vector<std::string> there;
  std::vector<std::string> awaited;  // they have been given it, and nothing of them is there
};

std::string text_of(const Holders& holders) {
  const std::string there = fmt::format("{}", fmt::join(holders.there, " and "));
  if (holders.awaited.empty()) return there + " hold it at once";
  return fmt::format("{} {} it, and {} was to have it", there,
                     holders.there.size() == 1 ? "holds" : "hold",
                     fmt::join(holders.awaited, " and "));
}

std::map<std::int32_t, Holders> foreign_holders(const Node& node) {
  std::map<std::int32_t, Holders> holders;
  each_foreign(node, [&](const NodeExecutor& executor, const ForeignAllocation& one) {
    for (const std::int32_t device : one.devices) {
      holders[device].there.push_back(foreign_text(executor, one));
    }
  });
  return holders;
}

// Whether nothing of the job is there: an executor has yet to confirm the room, or has refused it.
// A job that has begun and whose placeholder was lost is there.
bool is_only_wanted(const State& state, const Attempt& attempt, JobId job, NodeId node) {
  if (state.level <= kFirstLevel || attempt.started_at.us != 0) return false;
  const bool may_have_begun = attempt.stage >= Stage::kStarting;
  bool is_only_wanted = false;
  each_placeholder(state, job, attempt.number, [&](const auto& key, const Placeholder& one) {
    if (key.node != node) return;
    is_only_wanted |= one.stage == PlaceholderStage::kAsked ||
                      one.stage == PlaceholderStage::kRefused ||
                      (one.stage == PlaceholderStage::kWanted && !may_have_begun);
  });
  return is_only_wanted;
}

// Only to devices that an executor claims: what is ours alone is kept apart by the books.
void add_our_holders(const State& state, const Node& node,
                     std::map<std::int32_t, Holders>& holders) {
  for (const JobId id : node.jobs) {
    const Job* job = state.find_job(id);
    if (job == nullptr || job->attempts.empty()) continue;
    // Its executor took up the room, or gave it away: the next report ends it.
    if (only_gets_room(state, *job->spec)) continue;
    const bool is_there = !is_only_wanted(state, job->attempts.back(), id, node.id);
    for (const PlacementRecord& record : job->attempts.back().placements) {
      if (record.placement->node != node.id || record.stage == PlacementStage::kEnded) continue;
      std::int32_t last = -1;
      for (const DeviceGrant& grant : record.placement->devices) {
        const auto found = holders.find(grant.device);
        // Several slices or shares of one device are one holder.
        if (found == holders.end() || grant.device == last) continue;
        last = grant.device;
        auto& names = is_there ? found->second.there : found->second.awaited;
        names.push_back(fmt::format("job {} of {}", id.value, job->spec->user));
      }
    }
  }
}

}  // namespace

bool settle_conflicts(State& state, Node& node) {
  const auto is_ours = [](const OpenFinding& open) { return open.finding.check == kForeign_check; };
  std::map<std::int32_t, Holders> holders = foreign_holders(node);
  if (!holders.empty()) add_our_holders(state, node, holders);
  std::vector<OpenFinding> now;
  for (const auto& [device, who] : holders) {
    // One holder, whoever it is, is no conflict.
    if (who.there.size() + who.awaited.size() < 2) continue;
    const Finding finding{std::string(kForeign_check), Severity::kFault, Remedy::kNone, device,
                          text_of(who)};
    const auto before = std::find_if(
        node.findings.begin(), node.findings.end(),
        [&](const OpenFinding& open) { return is_ours(open) && open.finding.device == device; });
    // The same device in conflict as before: the finding keeps the instant when it began.
    now.push_back({finding, before == node.findings.end() ? state.now : before->since});
  }
  std::vector<OpenFinding> before;
  std::copy_if(node.findings.begin(), node.findings.end(), std::back_inserter(before), is_ours);
  const bool same =
      std::equal(before.begin(), before.end(), now.begin(), now.end(),
                 [](const OpenFinding& a, const OpenFinding& b) { return a.finding == b.finding; });
  // Most changes of a node touch no conflict, and leave its findings as they are.
  if (same) return false;
  std::erase_if(node.findings, is_ours);
  // Findings ascend by check, and these are put in as one run.
  const auto at =
      std::find_if(node.findings.begin(), node.findings.end(),
                   [](const OpenFinding& open) { return open.finding.check > kForeign_check; });
  const std::size_t room = kFindings_max - std::min(kFindings_max, node.findings.size());
  // Bounded like all findings; the devices that are left out are closed by being foreign.
  if (now.size() > room) now.resize(room);
  node.findings.insert(at, now.begin(), now.end());
  return true;
}

}  // namespace dove::core
