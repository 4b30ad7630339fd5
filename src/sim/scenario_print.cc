// Scenarios printed: decisions, jobs and nodes in the words of a scenario file.
#include <fmt/format.h>

#include "codec/words.h"
#include "sim/scenario_words.h"

namespace dove::sim {
namespace {

// An empty word reads as "none".
template <class E>
std::string_view shown(E value) {
  const std::string_view text = codec::word(value);
  return text.empty() ? std::string_view("none") : text;
}

std::string placement_text(const Placement& placement, const Names& names) {
  std::string text = " " + names.node(placement.node);
  if (!placement.cores.empty()) text += " cores=" + ranges_of(placement.cores.ids());
  std::vector<std::int32_t> whole;
  for (const DeviceGrant& grant : placement.devices) {
    const bool is_whole = grant.share_milli == kWholeDevice_milli && !grant.is_slice();
    if (is_whole) whole.push_back(grant.device);
  }
  if (!whole.empty()) text += " gpus=" + ranges_of(whole);
  for (const DeviceGrant& grant : placement.devices) {
    if (grant.is_slice()) {
      text += fmt::format(" slice={}:{}g@{}+{}", grant.device, grant.slice.compute,
                          grant.slice.start, grant.slice.size);
    } else if (grant.share_milli != kWholeDevice_milli) {
      text += fmt::format(" share={}:{}", grant.device, grant.share_milli);
    }
  }
  if (placement.memory_bytes > 0) text += fmt::format(" mem={}M", placement.memory_bytes >> 20);
  for (const Countable& one : placement.countables) {
    text += fmt::format(" {}={}", one.name, one.amount);
  }
  if (!placement.tasks.empty()) {
    std::vector<std::int32_t> ranks;
    for (const TaskGrant& task : placement.tasks) {
      ranks.push_back(static_cast<std::int32_t>(task.rank));
    }
    text += " ranks=" + ranges_of(ranks);
  }
  return text;
}

class Text {
 public:
  explicit Text(const Names& names) : names_(names) {}

  std::string operator()(const Launch& d) const {
    std::string text = fmt::format("launch {}#{}", names_.job(d.job), d.attempt);
    for (const Placement& placement : d.placements) text += placement_text(placement, names_);
    return text;
  }
  std::string operator()(const Start& d) const {
    return fmt::format("start {}#{}", names_.job(d.job), d.attempt);
  }
  std::string operator()(const Stop& d) const {
    std::string text = fmt::format("stop {}#{} {}", names_.job(d.job), d.attempt, shown(d.reason));
    if (d.purpose != Purpose::kNone) text += fmt::format(" purpose={}", codec::word(d.purpose));
    if (d.beneficiary) text += fmt::format(" for={}", names_.job(d.beneficiary));
    return text;
  }
  std::string operator()(const DeclareNodeLost& d) const {
    return fmt::format("lost {}", names_.node(d.node));
  }
  std::string operator()(const Requeue& d) const {
    std::string text = fmt::format("requeue {} {}{}{}", names_.job(d.job), shown(d.reason),
                                   d.counted ? " counted" : "", d.held ? " held" : "");
    if (d.pause.us > 0) text += fmt::format(" pause={}s", d.pause.us / 1'000'000);
    return text;
  }
  std::string operator()(const EndJob& d) const {
    return fmt::format("end {} {} exit={}", names_.job(d.job), shown(d.outcome), d.exit_code);
  }
  std::string operator()(const ForgetJob& d) const {
    return fmt::format("forget {}", names_.job(d.job));
  }
  std::string operator()(const Promise& d) const {
    std::string text =
        fmt::format("promise {} at={}s", names_.job(d.job), (d.start_at - kBegin).us / 1'000'000);
    for (const Placement& placement : d.placements) text += placement_text(placement, names_);
    return text;
  }
  std::string operator()(const Withdraw& d) const {
    return fmt::format("withdraw {}", names_.job(d.job));
  }
  std::string operator()(const MoveNode& d) const {
    std::string text = fmt::format("move {} {}", names_.node(d.node), codec::word(d.to));
    if (d.remedy != Remedy::kNone) text += fmt::format(" remedy={}", codec::word(d.remedy));
    if (!d.who.empty()) text += " who=" + d.who;
    return text + fmt::format(" ({})", d.why);
  }

 private:
  const Names& names_;
};

}  // namespace

std::string ranges_of(const std::vector<std::int32_t>& ids) {
  std::string text;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    if (!text.empty()) text += ",";
    text += end == i + 1 ? fmt::format("{}", ids[i]) : fmt::format("{}-{}", ids[i], ids[end - 1]);
    i = end;
  }
  return text;
}

std::string text_of(const Decision& decision, const Names& names) {
  return std::visit(Text(names), decision);
}

std::string text_of(const Reason& reason, const Names& names) {
  std::string text(codec::word(reason.kind));
  if (!reason.subject.empty()) text += " " + reason.subject;
  if (!reason.resource.empty()) text += " " + reason.resource;
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"needs", reason.needs}, {"free", reason.free},   {"used", reason.used},
      {"limit", reason.limit}, {"total", reason.total}, {"count", reason.count}};
  const bool measured = reason.needs != 0;
  for (const auto& [name, value] : numbers) {
    const bool shown = value != 0 || (measured && std::string_view(name) == "free");
    if (shown) text += fmt::format(" {}={}", name, value);
  }
  if (!reason.level.empty()) text += " level=" + reason.level;
  for (const UnitRoom& room : reason.units) {
    text += fmt::format(" {}={}/{}", room.unit, room.usable, room.free);
  }
  if (reason.other) text += fmt::format(" other={}", names.job(reason.other));
  const bool known = reason.until.us != 0 && reason.until != kNever;
  if (known) text += fmt::format(" until={}s", reason.until.us / 1'000'000);
  return text;
}

}  // namespace dove::sim
