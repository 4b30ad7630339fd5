#include "core/idle/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace dove::core {
namespace {

constexpr std::int32_t kHundredths = 100;  // of a percent

// Three values: a measurement that is missing must neither end a session nor show that it is used.
enum class Low : std::uint8_t { kYes, kNo, kUnknown };

struct Condition {
  IdleCheck check = IdleCheck::kInput;
  Low low = Low::kUnknown;
  std::string evidence;
};

bool names(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Whether the notice vouches for the condition: where all had to be low when it was given, it does
// for each; where one was enough, for its own check alone.
bool has_noticed(const IdleRule& rule, const IdleFacts& facts, IdleCheck check) {
  return facts.notice && (!rule.any || facts.notice->check == check);
}

// 0: it does not concern the job.
int specificity(const IdleRule& rule, const JobSpec& spec, std::string_view app) {
  if (!rule.apps.empty() && !names(rule.apps, app)) return 0;
  // A rule for the user before one for the project before one for all, and of those for the same
  // people one for the app first, whatever order they were declared in.
  const int for_app = rule.apps.empty() ? 0 : 1;
  if (names(rule.users, spec.user)) return 5 + for_app;
  if (!spec.project.empty() && names(rule.projects, spec.project)) return 3 + for_app;
  return rule.users.empty() && rule.projects.empty() ? 1 + for_app : 0;
}

Condition input_condition(const IdleRule& rule, const IdleFacts& facts, Instant now) {
  Condition condition;
  // Somebody is there at this moment, whatever was measured before.
  if (facts.in_use) {
    condition.low = Low::kNo;
    return condition;
  }
  if (has_noticed(rule, facts, IdleCheck::kInput)) {
    // After the warning only use since then counts. The span that led to it is over, and is not
    // counted again.
    const bool was_used = facts.last_input > facts.notice->observed_at;
    condition.low = was_used                                  ? Low::kNo
                    : facts.input_known || facts.is_gathering ? Low::kYes
                                                              : Low::kUnknown;
    return condition;
  }
  // From the latest of these: before the watch began input may have been missed, which counts as
  // used.
  const Span unused = now - std::max({facts.started_at, facts.last_input, facts.watched_since});
  if (unused < rule.no_input_for) {
    condition.low = Low::kNo;
    return condition;
  }
  // Silence of one of those who tell is not silence of the person.
  condition.low = facts.input_known ? Low::kYes : Low::kUnknown;
  condition.evidence = fmt::format("no input for {} (limit {})", idle_span_text(unused),
                                   idle_span_text(rule.no_input_for));
  return condition;
}

Condition use_condition(const IdleRule& rule, const IdleFacts& facts, std::string_view what,
                        const MeasuredUse& use, std::int32_t percent) {
  Condition condition{IdleCheck::kUse, Low::kUnknown, ""};
  const std::int32_t limit = percent * kHundredths;
  // One high value is enough to show use, also where the other is not known. Low takes both: the
  // mean alone would end a job that has just begun to work.
  if (use.lately.value_or(0) >= limit || use.mean.value_or(0) >= limit) {
    condition.low = Low::kNo;
    return condition;
  }
  if (has_noticed(rule, facts, IdleCheck::kUse)) {
    // With `any` the notice may have been about another amount: this one is to be known in full.
    const bool is_known = use.lately.has_value() && (!rule.any || use.mean.has_value());
    const bool stands = is_known || facts.is_gathering;
    condition.low = stands ? Low::kYes : Low::kUnknown;
    return condition;
  }
  if (!use.mean || !use.lately) return condition;
  condition.low = Low::kYes;
  condition.evidence =
      fmt::format("{} at {}.{:02} % for {} (limit {} %)", what, *use.mean / kHundredths,
                  *use.mean % kHundredths, idle_span_text(rule.window), percent);
  return condition;
}

std::vector<Condition> conditions_of(const IdleRule& rule, const IdleFacts& facts, Instant now) {
  std::vector<Condition> conditions;
  // A batch job has nobody who could type.
  if (rule.no_input_for.us > 0 && facts.is_session) {
    conditions.push_back(input_condition(rule, facts, now));
  }
  if (rule.window.us <= 0) return conditions;
  const auto add = [&](std::string_view what, const MeasuredUse& use, std::int32_t percent) {
    if (percent < 0) return;
    conditions.push_back(use_condition(rule, facts, what, use, percent));
  };
  // A job without GPUs uses none of them, which must not count as idle.
  if (facts.holds_gpus) {
    add("GPU", facts.gpu, rule.gpu_percent);
    add("GPU memory", facts.gpu_memory, rule.gpu_memory_percent);
  }
  add("CPU", facts.cpu, rule.cpu_percent);
  return conditions;
}

Low all_together(const IdleRule& rule, const std::vector<Condition>& conditions) {
  const auto some = [&](Low low) {
    return std::any_of(conditions.begin(), conditions.end(),
                       [&](const Condition& condition) { return condition.low == low; });
  };
  // A rule that looks at nothing of this job ends nothing.
  if (conditions.empty()) return Low::kNo;
  // Certainty before doubt: with `any` one low amount decides, else one high one does, whatever is
  // unknown beside it.
  if (rule.any && some(Low::kYes)) return Low::kYes;
  if (!rule.any && some(Low::kNo)) return Low::kNo;
  if (some(Low::kUnknown)) return Low::kUnknown;
  return some(Low::kNo) ? Low::kNo : Low::kYes;
}

std::string together(const std::vector<Condition>& conditions) {
  std::string text;
  for (const Condition& condition : conditions) {
    if (condition.low != Low::kYes) continue;
    text += (text.empty() ? "" : "; ") + condition.evidence;
  }
  return text;
}

IdleVerdict warned(const IdleNotice& notice, Instant now) {
  return {notice.ends_at <= now ? IdleStanding::kDue : IdleStanding::kWarned, notice.check,
          notice.ends_at, ""};
}

// Nothing: its lifetime is not nearly over, or something else ends it before.
std::optional<IdleVerdict> lifetime_verdict(const IdleRule& rule, const IdleFacts& facts,
                                            Instant now) {
  if (rule.lifetime.us <= 0) return std::nullopt;
  const Instant end = facts.started_at + rule.lifetime;
  // The instant that was announced stands, also if the rule was shortened since. Lengthened, it is
  // looked at anew.
  if (facts.notice && facts.notice->check == IdleCheck::kLifetime && end <= facts.notice->ends_at) {
    return warned(*facts.notice, now);
  }
  // The warning is given so early that its time is over when the lifetime is.
  if (now + rule.warning + kLifetimeLead < end) return std::nullopt;
  IdleVerdict verdict{IdleStanding::kWarn, IdleCheck::kLifetime, std::max(end, now + rule.warning),
                      ""};
  if (facts.notice && facts.notice->check != IdleCheck::kLifetime &&
      facts.notice->ends_at <= verdict.at) {
    return std::nullopt;
  }
  verdict.evidence =
      fmt::format("it has run for {} (limit {})", idle_span_text(verdict.at - facts.started_at),
                  idle_span_text(rule.lifetime));
  return verdict;
}

}  // namespace

const IdleRule* idle_rule_of(const State& state, const JobSpec& spec, std::string_view app) {
  const IdleRule* best = nullptr;
  int most = 0;
  for (const auto& [name, rule] : state.idle_rules) {
    const int here = specificity(rule, spec, app);
    // Equals do not replace: the first by name stays, as the map is sorted.
    if (here <= most) continue;
    most = here;
    best = &rule;
  }
  return best;
}

IdleVerdict judge_idle(const IdleRule& rule, const IdleFacts& facts, Instant now) {
  if (rule.exempt || (rule.sessions_only && !facts.is_session)) return {};
  // A lifetime is promised by the rule and needs no measurement, so it is looked at before all
  // else.
  if (const auto verdict = lifetime_verdict(rule, facts, now)) return *verdict;
  // Kept by a person: after the lifetime, which keeping does not lengthen, and before everything
  // that is measured.
  if (facts.kept_until.value_or(Instant{}) > now) {
    return {IdleStanding::kKept, IdleCheck::kInput, *facts.kept_until, ""};
  }
  if (facts.started_at + rule.grace > now) {
    return {IdleStanding::kGrace, IdleCheck::kInput, facts.started_at + rule.grace, ""};
  }
  IdleFacts seen = facts;  // the notice of another check says nothing about these
  if (seen.notice && seen.notice->check == IdleCheck::kLifetime) seen.notice.reset();
  const std::vector<Condition> conditions = conditions_of(rule, seen, now);
  switch (all_together(rule, conditions)) {
    case Low::kNo:
      return {IdleStanding::kActive, IdleCheck::kInput, {}, ""};
    case Low::kUnknown:
      return {IdleStanding::kUnknown, IdleCheck::kInput, {}, ""};
    case Low::kYes:
      break;
  }
  // Still low since the warning: its instant stands, and does not move with each look.
  if (seen.notice) return warned(*seen.notice, now);
  const auto first =
      std::find_if(conditions.begin(), conditions.end(),
                   [](const Condition& condition) { return condition.low == Low::kYes; });
  return {IdleStanding::kWarn, first->check, now + rule.warning, together(conditions)};
}

std::string idle_span_text(Span span) {
  struct Unit {
    std::int64_t s;
    std::string_view name;
  };
  constexpr std::array kUnits{Unit{86'400, "d"}, Unit{3'600, "h"}, Unit{60, "min"}, Unit{1, "s"}};
  std::int64_t left_s = std::max<std::int64_t>(span.us, 0) / 1'000'000;
  std::string text;
  int written = 0;
  for (const Unit& unit : kUnits) {
    const std::int64_t count = left_s / unit.s;
    if (count == 0 || written == 2) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", count, unit.name);
    left_s %= unit.s;
    ++written;
  }
  return text.empty() ? "0 s" : text;
}

}  // namespace dove::core
