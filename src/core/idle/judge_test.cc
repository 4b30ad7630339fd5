#include "core/idle/judge.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

constexpr Instant kStart{1'000'000'000'000};
constexpr Span kHour = seconds(3600);
constexpr std::int32_t kLimit = 500;  // 5 %, in hundredths

IdleRule rule_of_input() {
  IdleRule rule;
  rule.name = "rule";
  rule.no_input_for = kHour;
  return rule;
}

IdleRule rule_of_use() {
  IdleRule rule;
  rule.name = "rule";
  rule.window = seconds(600);
  rule.gpu_percent = 5;
  return rule;
}

IdleRule rule_of_both(bool any) {
  IdleRule rule = rule_of_use();
  rule.no_input_for = kHour;
  rule.any = any;
  return rule;
}

// A session with a GPU that has run for two hours, and that nobody uses.
IdleFacts unused() {
  IdleFacts facts;
  facts.is_session = true;
  facts.holds_gpus = true;
  facts.started_at = kStart;
  facts.input_known = true;
  facts.gpu = facts.gpu_memory = facts.cpu = {0, 0};
  return facts;
}
constexpr Instant kNow = kStart + seconds(7200);

// -- the truth table: what a row says in words, what it is as facts, and what follows by an oracle
// that knows the words alone.

enum class Form { kInput, kUse, kBothAll, kBothAny };
enum class Input { kLong, kRecent, kBusy, kUntold };
enum class Use { kBelow, kAt, kWasHigh, kShort };
enum class Keep { kNone, kStill, kOver };

struct Row {
  Form form;
  bool in_grace;
  Input input;
  Use use;
  Keep keep;
  bool warned;  // by this rule, a minute ago, for what the oracle says
};

IdleRule rule_of(const Row& row) {
  IdleRule rule = row.form == Form::kInput ? rule_of_input()
                  : row.form == Form::kUse ? rule_of_use()
                                           : rule_of_both(row.form == Form::kBothAny);
  if (row.in_grace) rule.grace = seconds(7201);
  return rule;
}

IdleFacts facts_of(const Row& row) {
  IdleFacts facts = unused();
  switch (row.input) {
    case Input::kLong:
      facts.last_input = kStart + kHour;  // exactly the limit ago
      break;
    case Input::kRecent:
      facts.last_input = kNow + seconds(row.warned ? -30 : -3599);
      break;
    case Input::kBusy:
      facts.in_use = true;
      break;
    case Input::kUntold:
      facts.input_known = false;
      break;
  }
  switch (row.use) {
    case Use::kBelow:
      facts.gpu = {kLimit - 1, kLimit - 1};
      break;
    case Use::kAt:
      facts.gpu = {kLimit, 0};
      break;
    case Use::kWasHigh:
      facts.gpu = {0, kLimit};
      break;
    case Use::kShort:
      facts.gpu = {};
      break;
  }
  if (row.keep == Keep::kStill) facts.kept_until = kNow + seconds(1);
  if (row.keep == Keep::kOver) facts.kept_until = kNow;
  if (row.warned) {
    facts.notice =
        IdleNotice{1, IdleCheck::kUse, "rule", "seen", kNow + seconds(-60), kNow + seconds(540)};
  }
  return facts;
}

IdleStanding oracle(const Row& row) {
  if (row.keep == Keep::kStill) return IdleStanding::kKept;
  if (row.in_grace) return IdleStanding::kGrace;
  const bool absent = row.input == Input::kLong;
  const bool present = row.input == Input::kRecent || row.input == Input::kBusy;
  const bool does_nothing = row.use == Use::kBelow;
  const bool works = row.use == Use::kAt || row.use == Use::kWasHigh;
  const IdleStanding idle = row.warned ? IdleStanding::kWarned : IdleStanding::kWarn;
  const auto by = [&](bool yes, bool no) {
    return yes ? idle : no ? IdleStanding::kActive : IdleStanding::kUnknown;
  };
  switch (row.form) {
    case Form::kInput:
      return by(absent, present);
    case Form::kUse:
      return by(does_nothing, works);
    case Form::kBothAll:
      return by(absent && does_nothing, present || works);
    case Form::kBothAny:
      return by(absent || does_nothing, present && works);
  }
  return IdleStanding::kExempt;
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const Form form : {Form::kInput, Form::kUse, Form::kBothAll, Form::kBothAny})
    for (const bool in_grace : {false, true})
      for (const Input input : {Input::kLong, Input::kRecent, Input::kBusy, Input::kUntold})
        for (const Use use : {Use::kBelow, Use::kAt, Use::kWasHigh, Use::kShort})
          for (const Keep keep : {Keep::kNone, Keep::kStill, Keep::kOver})
            for (const bool warned : {false, true})
              rows.push_back({form, in_grace, input, use, keep, warned});
  return rows;
}

// bench/idle reads the line that this prints.
TEST(IdleTruthTable, HasNoFalseEndAndNoMiss) {
  int false_ends = 0;
  int missed = 0;
  int other = 0;
  const std::vector<Row> rows = all_rows();
  const auto ends = [](IdleStanding standing) { return standing >= IdleStanding::kWarn; };
  for (const Row& row : rows) {
    const IdleStanding said = judge_idle(rule_of(row), facts_of(row), kNow).standing;
    const IdleStanding right = oracle(row);
    EXPECT_EQ(said, right) << "form " << static_cast<int>(row.form) << " grace " << row.in_grace
                           << " input " << static_cast<int>(row.input) << " use "
                           << static_cast<int>(row.use) << " keep " << static_cast<int>(row.keep)
                           << " warned " << row.warned;
    if (said == right) continue;
    (ends(said) && !ends(right) ? false_ends : ends(right) && !ends(said) ? missed : other) += 1;
  }
  std::printf("rows %zu false_ends %d missed %d other %d\n", rows.size(), false_ends, missed,
              other);
  EXPECT_GE(rows.size(), 300u);
}

// -- rows by hand

struct Told {
  const char* what;
  IdleRule rule;
  IdleFacts facts;
  IdleStanding standing;
  IdleCheck check = IdleCheck::kInput;
  const char* evidence = "";
};

Told told(const char* what, const IdleRule& rule, IdleStanding standing,
          const std::function<void(IdleFacts&)>& change = nullptr,
          IdleCheck check = IdleCheck::kInput, const char* evidence = "") {
  Told row{what, rule, unused(), standing, check, evidence};
  if (change) change(row.facts);
  return row;
}

IdleRule changed(IdleRule rule, const std::function<void(IdleRule&)>& change) {
  change(rule);
  return rule;
}

IdleNotice notice_of(IdleCheck check, std::int64_t ends_in_s) {
  return {1, check, "rule", "", kNow + seconds(-60), kNow + seconds(ends_in_s)};
}

std::vector<Told> rows_about_rules() {
  const IdleRule input = rule_of_input();
  const IdleRule use = rule_of_use();
  const auto batch = [](IdleFacts& facts) { facts.is_session = false; };
  const auto all_jobs = [](IdleRule& rule) { rule.sessions_only = false; };
  const auto with_memory = [](IdleRule& rule) { rule.gpu_memory_percent = 10; };
  const auto exempt = [](IdleRule& rule) { rule.exempt = true; };
  using S = IdleStanding;
  return {
      told("nobody ever used it", input, S::kWarn, nullptr, IdleCheck::kInput,
           "no input for 2 h (limit 1 h)"),
      told("its GPU does nothing", use, S::kWarn, nullptr, IdleCheck::kUse,
           "GPU at 0.00 % for 10 min (limit 5 %)"),
      told("both are told", rule_of_both(false), S::kWarn, nullptr, IdleCheck::kInput,
           "no input for 2 h (limit 1 h); GPU at 0.00 % for 10 min (limit 5 %)"),
      told("a batch job is left alone", use, S::kExempt, batch),
      told("unless the rule says so", changed(use, all_jobs), S::kWarn, batch, IdleCheck::kUse),
      told("a batch job has no input", changed(input, all_jobs), S::kActive, batch),
      told("it has no GPU that could be idle", use, S::kActive,
           [](IdleFacts& facts) { facts.holds_gpus = false; }),
      told("its rule exempts", changed(input, exempt), S::kExempt),
      told("memory is held though nothing is computed", changed(use, with_memory), S::kActive,
           [](IdleFacts& facts) {
             facts.gpu_memory = {1000, 1000};
           }),
  };
}

std::vector<Told> rows_about_restarts() {
  const IdleRule input = rule_of_input();
  const IdleRule use = rule_of_use();
  using S = IdleStanding;
  return {
      told("input before the restart may have been missed", input, S::kActive,
           [](IdleFacts& facts) { facts.watched_since = kNow + seconds(-60); }),
      told("the warning is over", input, S::kDue,
           [](IdleFacts& facts) { facts.notice = notice_of(IdleCheck::kInput, 0); }),
      told(
          "after a restart a warning stands", use, S::kWarned,
          [](IdleFacts& facts) {
            facts.gpu = {};
            facts.is_gathering = true;
            facts.notice = notice_of(IdleCheck::kUse, 60);
          },
          IdleCheck::kUse),
      told("after a restart its GPU works again", use, S::kActive,
           [](IdleFacts& facts) {
             facts.gpu = {std::nullopt, 9000};
             facts.is_gathering = true;
             facts.notice = notice_of(IdleCheck::kUse, 60);
           }),
      told("one was enough: its GPU works again, and input is not missed for long yet",
           rule_of_both(true), S::kActive,
           [](IdleFacts& facts) {
             facts.gpu = {9000, 9000};
             facts.last_input = kNow + seconds(-1800);
             facts.notice = notice_of(IdleCheck::kUse, 60);
           }),
      told("one was enough: input came, and a moment of an idle GPU proves nothing",
           rule_of_both(true), S::kUnknown,
           [](IdleFacts& facts) {
             facts.gpu = {std::nullopt, 0};
             facts.last_input = kNow + seconds(-30);
             facts.notice = notice_of(IdleCheck::kInput, 60);
           }),
      told("the node has fallen silent after the warning", use, S::kUnknown,
           [](IdleFacts& facts) {
             facts.gpu = {};
             facts.notice = notice_of(IdleCheck::kUse, 60);
           }),
  };
}

TEST(IdleJudge, SaysWhatIsToldOfEachRow) {
  std::vector<Told> rows = rows_about_rules();
  const std::vector<Told> more = rows_about_restarts();
  rows.insert(rows.end(), more.begin(), more.end());
  for (const Told& row : rows) {
    const IdleVerdict said = judge_idle(row.rule, row.facts, kNow);
    EXPECT_EQ(said.standing, row.standing) << row.what;
    const bool ends = said.standing >= IdleStanding::kWarn;
    EXPECT_EQ(ends ? said.check : row.check, row.check) << row.what;
    EXPECT_EQ(*row.evidence == 0 ? "" : said.evidence, row.evidence) << row.what;
  }
}

TEST(IdleJudge, ALifetimeEndsAtItsTimeWhateverIsDone) {
  IdleRule rule;
  rule.name = "rule";
  rule.lifetime = kHour;
  IdleFacts facts = unused();
  facts.in_use = true;
  facts.kept_until = kStart + seconds(9000);
  const Instant end = kStart + kHour;
  const auto at = [&](std::int64_t s) { return judge_idle(rule, facts, kStart + seconds(s)); };
  EXPECT_EQ(at(2989).standing, IdleStanding::kKept);
  EXPECT_EQ(at(2990).standing, IdleStanding::kWarn);
  EXPECT_EQ(at(2990).check, IdleCheck::kLifetime);
  EXPECT_EQ(at(2990).at, end);
  EXPECT_EQ(at(2995).at, end);
  EXPECT_EQ(at(3300).at, kStart + seconds(3900)) << "looked at too late, the warning is whole";
  facts.notice = IdleNotice{1, IdleCheck::kLifetime, "rule", "", kStart + seconds(2990), end};
  EXPECT_EQ(at(3300).standing, IdleStanding::kWarned);
  EXPECT_EQ(at(3600).standing, IdleStanding::kDue);
  rule.lifetime = seconds(7200);
  EXPECT_EQ(at(3300).standing, IdleStanding::kKept) << "the rule has changed";
}

// In virtual time: looked at every 5 s, somebody types until 40 min, then nobody; again in the
// warning; then never.
TEST(IdleJudge, IsLateByOneIntervalAtMost) {
  const IdleRule rule = rule_of_input();
  IdleFacts facts = unused();
  std::vector<std::int64_t> warned_s;
  std::vector<std::int64_t> ended_s;
  for (std::int64_t s = 3;; s += 5) {
    const Instant now = kStart + seconds(s);
    if (s <= 2400 || (s > 6100 && s <= 6200)) facts.last_input = now;
    const IdleVerdict said = judge_idle(rule, facts, now);
    if (facts.notice && said.standing != IdleStanding::kWarned) {
      ended_s.push_back(s);
      facts.notice.reset();
      if (said.standing == IdleStanding::kDue) break;
    }
    if (said.standing != IdleStanding::kWarn) continue;
    warned_s.push_back(s);
    facts.notice = IdleNotice{1, said.check, "rule", said.evidence, now, said.at};
  }
  EXPECT_EQ(warned_s, (std::vector<std::int64_t>{5998, 9798}));  // typed last at 2398 and 6198
  EXPECT_EQ(ended_s, (std::vector<std::int64_t>{6103, 10398}));
}

TEST(IdleRuleOf, TheMostSpecificRuleCountsAsAWhole) {
  TestCluster cluster;
  const auto declare = [&](const char* name, std::vector<std::string> users,
                           std::vector<std::string> projects) {
    IdleRule rule;
    rule.name = name;
    rule.users = std::move(users);
    rule.projects = std::move(projects);
    cluster.tell(ObjectApplied{rule});
  };
  JobSpec spec = spec_of({});
  const auto found = [&] {
    const IdleRule* rule = idle_rule_of(cluster.state, spec, "notebook");
    return rule == nullptr ? std::string() : rule->name;
  };
  EXPECT_EQ(found(), "");
  declare("all", {}, {});
  EXPECT_EQ(found(), "all");
  declare("a-team", {}, {"nlp"});
  EXPECT_EQ(found(), "all") << "the job is of no project";
  spec.project = "nlp";
  EXPECT_EQ(found(), "a-team");
  declare("z-ann", {"ann"}, {});
  EXPECT_EQ(found(), "z-ann");
  declare("b-ann", {"ann", "bob"}, {"vision"});
  EXPECT_EQ(found(), "b-ann") << "of two for her the first by name";
  spec.user = "bob";
  spec.project = "vision";
  EXPECT_EQ(found(), "b-ann");
  spec.user = "eve";
  EXPECT_EQ(found(), "b-ann") << "by her project";
  spec.project = "robots";
  EXPECT_EQ(found(), "all");
}

TEST(IdleRuleOf, ARuleForAnAppCountsForItAlone) {
  TestCluster cluster;
  const auto declare = [&](const char* name, std::vector<std::string> users,
                           std::vector<std::string> apps) {
    IdleRule rule;
    rule.name = name;
    rule.users = std::move(users);
    rule.apps = std::move(apps);
    cluster.tell(ObjectApplied{rule});
  };
  const auto found = [&](const char* app) {
    const IdleRule* rule = idle_rule_of(cluster.state, spec_of({}), app);
    return rule == nullptr ? std::string() : rule->name;
  };
  declare("boards", {}, {"tensorboard"});
  EXPECT_EQ(found("notebook"), "");
  EXPECT_EQ(found(""), "") << "a batch job has no app";
  EXPECT_EQ(found("tensorboard"), "boards");
  declare("all", {}, {});
  EXPECT_EQ(found("notebook"), "all");
  EXPECT_EQ(found("tensorboard"), "boards");
  declare("user", {spec_of({}).user}, {});
  EXPECT_EQ(found("tensorboard"), "user") << "who it is comes before what it is";
  declare("zz", {spec_of({}).user}, {"tensorboard"});
  EXPECT_EQ(found("tensorboard"), "zz");
}

TEST(IdleSpanText, HasTwoUnitsAtMost) {
  EXPECT_EQ(idle_span_text(seconds(0)), "0 s");
  EXPECT_EQ(idle_span_text(seconds(40)), "40 s");
  EXPECT_EQ(idle_span_text(seconds(3900)), "1 h 5 min");
  EXPECT_EQ(idle_span_text(seconds(3 * 86400 + 3661)), "3 d 1 h");
}

}  // namespace
}  // namespace dove::core
