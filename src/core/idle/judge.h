// Whether a running job is idle, by the rule that applies to it. Pure: facts in, a verdict out.
//
// A rule looks at a person's input, at the use of what the job holds, or at both. If it looks at
// several amounts, all of them must be low; with `any` one is enough. An unknown amount never
// counts as low. A verdict holds for the instant of the question, so a caller that asks once an
// interval is late by one interval at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/state/state.h"
#include "model/idle.h"

namespace dove::core {

// So long before its time the end of a lifetime is announced, so that it comes at its time whenever
// it was looked at.
constexpr Span kLifetimeLead = seconds(10);

// The rule that counts for the job; nullptr: none concerns it. Among equally specific rules,
// the one whose name comes first. `app`: what the job is used for; "": it is no session.
const IdleRule* idle_rule_of(const State& state, const JobSpec& spec, std::string_view app);

// The use of what the job holds, in hundredths of a percent. Unset: not measured.
struct MeasuredUse {
  std::optional<std::int32_t> mean;    // over the rule's whole window
  std::optional<std::int32_t> lately;  // as last reported, a moment ago
};

// What is known of a running job.
struct IdleFacts {
  bool is_session = false;  // it has an app
  bool holds_gpus = false;
  Instant started_at;
  std::optional<Instant> kept_until;
  // Whether all who have to say so have told lately if somebody uses it.
  bool input_known = false;
  bool in_use = false;    // at this moment: a busy kernel, a program in a terminal
  Instant last_input;     // 0: none is known of
  Instant watched_since;  // before that input may have been missed
  MeasuredUse gpu;
  MeasuredUse gpu_memory;
  MeasuredUse cpu;
  // Those who tell have not been heard since the controller started: what was found before stands.
  bool is_gathering = false;
  std::optional<IdleNotice> notice;  // that was given by this rule
};

enum class IdleStanding : std::uint8_t {
  kExempt,   // no rule looks at it
  kGrace,    // not judged yet
  kKept,     // a person wants it to go on
  kActive,   // it is used, or not long enough unused
  kUnknown,  // something that would have to be low is not known
  kWarn,     // it is idle: to be warned now
  kWarned,   // it is still idle, and was warned
  kDue,      // its warning is over: it is stopped by decide
};

struct IdleVerdict {
  IdleStanding standing = IdleStanding::kExempt;
  IdleCheck check = IdleCheck::kInput;  // of kWarn, kWarned and kDue
  Instant at;  // kGrace, kKept: their end; kWarn, kWarned, kDue: when it is stopped; else 0
  std::string evidence;  // of kWarn: values and thresholds
};

IdleVerdict judge_idle(const IdleRule& rule, const IdleFacts& facts, Instant now);

// "1 h 5 min", "40 s".
std::string idle_span_text(Span span);

}  // namespace dove::core
