// Each message comes back as it was written, says what is wrong with it, and is spelt as
// api/agent-protocol.md spells it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "protocol/control.h"
#include "protocol/link_words.h"
#include "protocol/orders.h"
#include "protocol/reports.h"
#include "protocol/session.h"

namespace dove::protocol {
namespace {

using Json = nlohmann::json;

template <class T>
T value_of(Result<T> result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(result).value() : T{};
}

TEST(Protocol, ALaunchIsReadAsItIsWritten) {
  Launch launch;
  launch.restart_count = 2;
  launch.barrier = true;
  launch.nodes = {{"n1", "10.0.0.1", 0, {0, 1}, 4, {0, 3}, "", 7001},
                  {"n2", "10.0.0.2", 1, {2}, 4, {}, "", 0}};
  launch.name = "a \"name\"\n";
  launch.launch = LaunchMode::kBatch;
  launch.time_limit = Span{90'000'000};
  launch.array = JobId(70);
  launch.group_names = {"main", "side"};
  launch.exec_blob = std::make_shared<const std::string>(R"({"command":["true"]})");
  launch.run_as = RunAs::kSubmitter;
  launch.linux_user = "ann";
  Order order{Seq(12), Epoch(3), "proof", OrderKind::kLaunch, {JobId(7), 1}, "", 0, ""};
  Placement here;
  here.node = NodeId(2);
  const Json line = Json::parse(launch_line(order, here, launch_text(launch)));
  const Order head = value_of(read_order(line));
  EXPECT_EQ(head.seq, Seq(12));
  EXPECT_EQ(head.key.text(), "7.1");
  const Launch read = value_of(read_launch(line));
  EXPECT_EQ(read.placement, here);
  EXPECT_EQ(read.nodes.at(0).underlay, "10.0.0.1");
  EXPECT_EQ(read.nodes.at(0).devices, (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(read.name, launch.name);
  EXPECT_EQ(read.launch, LaunchMode::kBatch);
  EXPECT_EQ(read.array, JobId(70));
  EXPECT_EQ(read.exec.command, std::vector<std::string>{"true"});
  EXPECT_EQ(read.run_as, RunAs::kSubmitter);
  EXPECT_EQ(launch_text(read).substr(0, 30), launch_text(launch).substr(0, 30));
}

// As agents of earlier releases read it, and wrote it beside the attempts that they still run.
TEST(Protocol, WhatALaunchSaysOfAJobIsSpeltAsEver) {
  Launch launch;
  launch.name = "train";
  launch.user = "ann";
  launch.project = "p1";
  launch.queue = "night";
  launch.pool = "gpu";
  launch.launch = LaunchMode::kBatch;
  launch.time_limit = Span{90'000'000};
  launch.checkpoint_signal = 10;
  launch.checkpoint_grace = Span{5'000'000};
  launch.array = JobId(70);
  launch.array_index = 3;
  launch.group_names = {"main"};
  const std::string before =
      R"("spec":{"name":"train","user":"ann","project":"p1","queue":"night","pool":"gpu",)"
      R"("launch":"batch","time_limit_us":90000000,"kill_grace_us":30000000,)"
      R"("checkpoint_signal":10,"checkpoint_grace_us":5000000,"array":70,"array_index":3,)"
      R"("tasks":1,"cpus_per_task":1,"group_names":["main"])";
  EXPECT_NE(launch_text(launch).find(before + "},"), std::string::npos) << launch_text(launch);
  launch.secrets = {{"token", "TOKEN", ""}};
  EXPECT_NE(launch_text(launch).find(
                before + R"(,"secrets":[{"secret":"token","variable":"TOKEN","file":""}]},)"),
            std::string::npos)
      << launch_text(launch);
  launch.exec_blob = std::make_shared<const std::string>(R"({"command":["true"]})");
  const std::string line = launch_line(Order{}, Placement{}, launch_text(launch));
  const Launch read = value_of(read_launch(Json::parse(line)));
  EXPECT_TRUE(static_cast<const JobBrief&>(read) == static_cast<const JobBrief&>(launch));
}

TEST(Protocol, AnOrderSaysWhatBelongsToItsKind) {
  Order stop{Seq(1), Epoch(1), "", OrderKind::kStop, {JobId(7), 1}, "cancelled", 1000, ""};
  EXPECT_EQ(order_line(stop), R"({"seq":1,"epoch":1,"proof":"","order":"stop","job":7,"attempt":1,)"
                              R"("reason":"cancelled","after_ms":1000})");
  Order start = stop;
  start.kind = OrderKind::kStart;
  EXPECT_EQ(order_line(start),
            R"({"seq":1,"epoch":1,"proof":"","order":"start","job":7,"attempt":1})");
  start.placement.emplace();
  start.placement->cores = {4, 5};
  const Result<Order> read = read_order(Json::parse(order_line(start)));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->placement, start.placement);
}

std::vector<Report> one_of_each() {
  const AttemptKey key{JobId(7), 1};
  const TaskExit exit{2, 1, 9, "fenced"};
  return {
      Prepared{key},
      Started{key},
      TaskOver{key, exit},
      Ended{key, {exit}, 10, 20, 30},
      LaunchRefused{key, "no room"},
      OrderRefused{key, "older"},
      StepOver{key, 4, {exit}},
      PreflightOver{key, "n2", "all_reduce", "timed out"},
      Progress{key,
               {RankProgress{0, 7, 10, 8, 512, 2.5, "train"}, RankProgress{1, 6, 0, 0, 0, {}, ""}}},
      Shares{key, "mps"},
      Warnings{key, {"one", "two"}},
      FindingSaid{Finding{"xid_79", Severity::kFault, Remedy::kReset, 3, "seen"}},
      Tested{true, "12 checks"},
      RemedyOver{"reset", false, "why"},
      Use{key, 10, 4200, std::nullopt, 300, true, true, 42, {{1, 4200}, {3, 0}}},
      StepTaskOver{key, 4, exit}};
}

TEST(Protocol, EachKindOfReportIsReadAsItIsWritten) {
  const std::vector<Report> all = one_of_each();
  ASSERT_EQ(all.size(), std::variant_size_v<Report>);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].index(), i);
    const std::string text = report_text(all[i]);
    const Report read = value_of(read_report(Json::parse(text)));
    EXPECT_EQ(read.index(), i) << text;
    EXPECT_EQ(report_text(read), text);
    const AttemptKey* key = key_of(read);
    EXPECT_EQ(key != nullptr, text.find("\"job\":7") != std::string::npos) << text;
  }
}

// A controller of a former version, which does not know the kind, would refuse the whole message.
TEST(Protocol, EndsOfSingleTasksOfStepsAreNoEvents) {
  const AttemptKey key{JobId(7), 1};
  ReportMessage message;
  message.session = "s";
  message.reports = {Started{key}, StepTaskOver{key, 4, {2, 1, 9, ""}}, StepOver{key, 4, {}}};
  const Json written = Json::parse(report_message_text(message));
  EXPECT_EQ(written.at("events").size(), 2u);
  EXPECT_EQ(written.at("step_exits").size(), 1u);
  const ReportMessage read = value_of(read_report_message(written));
  ASSERT_EQ(read.reports.size(), 3u);
  EXPECT_EQ(std::get<StepTaskOver>(read.reports[0]).exit.rank, Rank{2});
  EXPECT_TRUE(std::holds_alternative<Started>(read.reports[1]));
  EXPECT_TRUE(std::holds_alternative<StepOver>(read.reports[2]));
  message.reports.erase(message.reports.begin() + 1);
  EXPECT_FALSE(Json::parse(report_message_text(message)).contains("step_exits"));
}

TEST(Protocol, AReportThatCannotBeReadSaysWhere) {
  const auto code = [](const Json& json) {
    const Result<ReportMessage> read = read_report_message(json);
    return read.ok() ? "" : read.error().code + ' ' + read.error().field;
  };
  const auto report = [](Json event) {
    return Json{{"session", "s"}, {"report", 1}, {"events", {std::move(event)}}};
  };
  EXPECT_EQ(code(report({{"kind", "started"}, {"job", 7}, {"attempt", 1}})), "");
  EXPECT_EQ(code(report({{"kind", "started"}, {"job", 7}})), "malformed_message events[0].attempt");
  EXPECT_EQ(code(report({{"kind", "started"}, {"job", -7}, {"attempt", 1}})),
            "malformed_message events[0].job");
  EXPECT_EQ(code(report({{"kind", "started"}, {"job", 7}, {"attempt", 1ULL << 40}})),
            "malformed_message events[0].attempt");
  EXPECT_EQ(code(report({{"kind", "sung"}, {"job", 7}, {"attempt", 1}})),
            "malformed_message events[0].kind");
  EXPECT_EQ(code(report(7)), "malformed_message events[0]");
  EXPECT_EQ(
      code(report({{"kind", "task_ended"}, {"job", 7}, {"attempt", 1}, {"exit", {{"rank", -1}}}})),
      "malformed_message events[0].exit.rank");
  EXPECT_EQ(code(3), "malformed_message ");
}

TEST(Protocol, WhatIsTooLongIsCutAndWhatIsTooMuchIsBounded) {
  const std::string why(100'000, 'w');
  const Report failed = value_of(
      read_report(Json{{"kind", "launch_failed"}, {"job", 1}, {"attempt", 1}, {"why", why}}));
  EXPECT_EQ(std::get<LaunchRefused>(failed).why.size(), 4096u);
  const Report progress = value_of(read_report(
      Json{{"kind", "progress"},
           {"job", 1},
           {"attempt", 1},
           {"ranks", {{{"rank", 0}, {"step", -5}, {"step_us", std::int64_t{1} << 60}}}}}));
  EXPECT_EQ(std::get<Progress>(progress).ranks.at(0).step, 0);
  EXPECT_EQ(std::get<Progress>(progress).ranks.at(0).step_us, std::int64_t{1} << 49);
}

TEST(Protocol, ASyncIsReadAsItIsWritten) {
  Sync sync;
  sync.ticket = "t";
  sync.agent_pid = 4711;
  sync.machine.boot_id = "boot-1";
  sync.machine.log_head_seen = 1ULL << 63;
  sync.placements = {{{JobId(7), 1}, ActiveStage::kStarted, {TaskExit{0, 3, 0, ""}}, "", 1, 2, 3}};
  sync.steps = {{JobId(7), 1, 2}};
  sync.offer = Offer{false, ContainerOffer{true, true, {"debian", "torch:2.5"}}};
  const Sync read = value_of(read_sync(Json::parse(sync_text(sync))));
  EXPECT_EQ(sync_text(read), sync_text(sync));
  sync.offer->containers->images.emplace_back(300, 'n');
  const Sync cut = value_of(read_sync(Json::parse(sync_text(sync))));
  EXPECT_EQ(cut.offer->containers->images.size(), 2u) << "of at most 256 bytes";
  EXPECT_FALSE(cut.offer->containers->names_all);
  EXPECT_EQ(read.placements.at(0).stage, ActiveStage::kStarted);
  EXPECT_EQ(read.machine.log_head_seen, 1ULL << 63);

  Json other = Json::parse(sync_text(sync));
  other["protocol"] = 2;
  EXPECT_EQ(read_sync(other).error().code, "protocol_unsupported");
  other["protocol"] = 1;
  other["boot_id"] = std::string(300, 'b');
  EXPECT_EQ(read_sync(other).error().field, "boot_id");
}

TEST(Protocol, ASyncsAnswerIsATicketOrASession) {
  SyncAnswer answer;
  answer.ticket = "t";
  EXPECT_EQ(sync_answer_text(answer), R"({"ticket":"t","epoch":0})");
  EXPECT_EQ(value_of(read_sync_answer(Json::parse(sync_answer_text(answer)))).ticket, "t");
  EXPECT_FALSE(value_of(read_sync_answer(Json{{"ticket", "t"}})).waits_us.has_value());
  answer.waits_us = 5'000'000;
  answer.sync_after_us = 200'000;
  EXPECT_EQ(sync_answer_text(answer),
            R"({"ticket":"t","epoch":0,"waits_us":5000000,"sync_after_us":200000})");
  const SyncAnswer spread = value_of(read_sync_answer(Json::parse(sync_answer_text(answer))));
  EXPECT_EQ(spread.waits_us, 5'000'000);
  EXPECT_EQ(spread.sync_after_us, 200'000);
  const Json long_wait{{"ticket", "t"}, {"sync_after_us", std::int64_t{1} << 50}};
  EXPECT_EQ(value_of(read_sync_answer(long_wait)).sync_after_us, 60'000'000);
  answer = {};
  answer.session = "s";
  answer.orders = {R"({"order":"start","job":7,"attempt":1})", R"({"order":"test"})"};
  answer.forget = {{JobId(3), 1}};
  const SyncAnswer read = value_of(read_sync_answer(Json::parse(sync_answer_text(answer))));
  EXPECT_EQ(read.session, "s");
  ASSERT_EQ(read.orders.size(), 2u);
  EXPECT_EQ(Json::parse(read.orders[0]).at("order"), "start");
  EXPECT_EQ(read.forget.at(0).text(), "3.1");
}

// Controllers and agents of former versions do not know whom to refuse.
TEST(Protocol, WhoIsExpelledIsSaidWithASessionAndWhenItChanges) {
  SyncAnswer answer;
  EXPECT_EQ(sync_answer_text(answer).find("expelled"), std::string::npos);
  answer.expelled = {"n1", "n7"};
  const Json text = Json::parse(sync_answer_text(answer));
  EXPECT_EQ(value_of(read_sync_answer(text)).expelled, answer.expelled);
  Control line;
  EXPECT_FALSE(value_of(read_control(Json::parse(control_line(line)))).expelled.has_value());
  line.expelled.emplace();
  EXPECT_EQ(control_line(line), R"({"expelled":[]})");
  EXPECT_TRUE(value_of(read_control(Json::parse(control_line(line)))).expelled.has_value());
}

TEST(Protocol, AControlLineIsOneOfItsKinds) {
  Control control;
  control.signal = Signal{{JobId(7), 1}, std::nullopt, 10, true};
  EXPECT_EQ(control_line(control),
            R"({"signal":{"job":7,"attempt":1,"signal":10,"batch_only":true,"steps_only":false}})");
  Control step;
  step.step = StepOrder{};
  step.step->relay_id = "r";
  step.step->key = {JobId(7), 1};
  step.step->tasks = {TaskGrant{3, 0, 1, {}, {DeviceGrant{2, kWholeDevice_milli, {}}}}};
  step.step->environment = {{"A", "1"}};
  step.step->container.image = "small";
  const Control read = value_of(read_control(Json::parse(control_line(step))));
  ASSERT_TRUE(read.step.has_value());
  EXPECT_EQ(control_line(read), control_line(step));
  EXPECT_EQ(read.step->tasks, step.step->tasks);
  EXPECT_EQ(read.step->container.image, "small");
  EXPECT_FALSE(read.signal.has_value());
}

TEST(Protocol, AForwardIsReadAsItIsWritten) {
  Control control;
  control.forward = ForwardOrder{"l", {JobId(7), 1}, 2, 8080, "", false};
  EXPECT_EQ(control_line(control),
            R"({"forward":{"id":"l","job":7,"attempt":1,"rank":2,"port":8080,"socket":"",)"
            R"("looks_only":false}})");
  const Control read = value_of(read_control(Json::parse(control_line(control))));
  ASSERT_TRUE(read.forward.has_value());
  EXPECT_EQ(control_line(read), control_line(control));
}

TEST(Protocol, AWordOfALinkHoldsWhatItSaysAndNothingElse) {
  const std::string exec = link_word(
      {.exec = ExecWish{.task = "worker/1",
                        .program = {.command = {"bash", "-l"}, .terminal = true, .rows = 40}}});
  const LinkWord wish = value_of(read_link_word(exec, 4096));
  ASSERT_TRUE(wish.exec.has_value());
  EXPECT_EQ(wish.exec->program.command, (std::vector<std::string>{"bash", "-l"}));
  EXPECT_EQ(wish.exec->task, "worker/1");
  EXPECT_EQ(wish.exec->program.columns, 80);
  EXPECT_EQ(link_word(wish), exec);
  EXPECT_EQ(link_word({.took = 7}), R"({"took":7})");
  EXPECT_EQ(link_word({.end = true}), R"({"end":true})");
  EXPECT_EQ(link_word({.resize = ScreenSize{40, 120}}), R"({"resize":{"rows":40,"columns":120}})");
  EXPECT_EQ(link_word({.begun = LinkBegun{3}}), R"({"begun":{"rank":3}})");
  EXPECT_EQ(value_of(read_link_word(R"({"exit":{"rank":0,"exit_code":3}})", 4096)).exit->exit_code,
            3);
  EXPECT_EQ(value_of(read_link_word(R"({"error":{"code":"a"}})", 4096)).error->status, 409);
  EXPECT_EQ(link_word(value_of(read_link_word(R"({"of a newer peer":1})", 4096))), "{}");
  EXPECT_FALSE(read_link_word(R"({"took":"7"})", 4096).ok());
  EXPECT_FALSE(read_link_word(R"({"exec":{"task":"0"}})", 4096).ok());
  EXPECT_FALSE(read_link_word("[]", 4096).ok());
  EXPECT_FALSE(read_link_word(exec, exec.size() - 1).ok());
}

}  // namespace
}  // namespace dove::protocol
