// Commands in the world of a running task, by both runners of real tasks.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/exec/execs.h"
#include "agent/tasks/runner_test_bed.h"
#include "wire/server.h"

namespace dove::agent {
namespace {

using wire::Channel;

// A task that waits, and a controller that plays the command's client.
class ExecSessionTest : public RunnerTestBed, public ::testing::WithParamInterface<bool> {
 protected:
  ExecSessionTest() : RunnerTestBed(GetParam() ? RunnerKind::kContainer : RunnerKind::kProcess) {}

  void SetUp() override {
    RunnerTestBed::SetUp();
    if (IsSkipped()) return;
    server_.emplace(loop_, wire::ServerLimits{},
                    [this](const wire::Request& request, const auto& responder) {
                      auto made = wire::accept_web_socket(loop_, request, *responder, callbacks());
                      ASSERT_TRUE(made.ok());
                      client_ = std::move(made).value();
                    });
    ASSERT_TRUE(server_->listen("127.0.0.1", 0).ok());
    // Waits as one process, so that `marked_` counts it whenever that is.
    start(of_attempt("cat /proc/self/cgroup > group; mkfifo hold; echo x > up; read x < hold"));
    ASSERT_TRUE(until([&] { return read("up") == "x\n" && started_ > 0; }));
    marked_ = marked();
    host_ = {&loop_, &runner(), [this](const std::string& id, wire::WebSocketCallbacks with) {
               wire::Request request;
               request.target = "/" + id;
               return wire::connect_web_socket(loop_, {"127.0.0.1", server_->port()}, request,
                                               std::move(with));
             }};
  }
  void TearDown() override {
    if (task_ != nullptr) task_->stop();
    if (task_ != nullptr) {
      EXPECT_TRUE(ended());
    }
    execs_.reset();
    client_.reset();
    server_.reset();
    RunnerTestBed::TearDown();
  }

  TaskPlan of_attempt(const std::string& script) {
    TaskPlan found = plan(script);
    found.attempt = mark_ + "-attempt";
    return found;
  }
  wire::WebSocketCallbacks callbacks() {
    wire::WebSocketCallbacks found;
    found.on_text = [this](std::string_view text) {
      const nlohmann::json said = nlohmann::json::parse(text);
      if (said.contains("begun")) begun_ = true;
      if (said.contains("exit")) exit_ = said["exit"];
      if (said.contains("error")) error_ = said["error"].value("code", "");
      if (said.contains("took")) taken_ += said["took"].get<std::size_t>();
    };
    found.on_bytes = [this](std::string_view message) {
      const Result<wire::Piece> piece = wire::read_piece(message);
      ASSERT_TRUE(piece.ok());
      (piece->channel == Channel::kStderr ? err_ : out_) += piece->bytes;
      if (takes_) say(fmt::format(R"({{"took":{}}})", piece->bytes.size()));
    };
    return found;
  }
  void say(const std::string& word) { client_->send_text(word); }

  void run(const std::string& script, bool terminal = false) {
    ExecOrder order;
    order.id = "a";
    order.rank = 3;
    order.program.command = {"/bin/sh", "-c", script};
    order.program.environment = {{"OF_THE_CLIENT", "yes"}};
    order.program.terminal = terminal;
    order.program.input = true;
    order.program.rows = 33;
    order.program.columns = 101;
    execs_.emplace(host_, root_, [this] { settled_ = true; });
    execs_->open(order, of_attempt(""));
  }
  // Nothing is left; and its client was told, if there is one to tell.
  bool settled(bool tells = true) {
    return until([&] {
      const bool told = exit_.is_object() || !error_.empty();
      return settled_ && (!tells || told);
    });
  }
  int code() const { return exit_.is_object() ? exit_.value("exit_code", -1) : -1; }

  std::optional<wire::Server> server_;
  std::unique_ptr<wire::WebSocket> client_;
  ExecHost host_;
  std::optional<Execs> execs_;
  int marked_ = 0;  // processes of the task alone
  bool takes_ = true;
  bool begun_ = false;
  bool settled_ = false;
  nlohmann::json exit_;
  std::string error_, out_, err_;
  std::size_t taken_ = 0;
};

TEST_P(ExecSessionTest, RunsInTheTasksWorldAndTellsItsEnd) {
  run("echo $OF_THE_CLIENT; cat /proc/self/cgroup; echo apart >&2; exit 5");
  ASSERT_TRUE(settled());
  EXPECT_TRUE(begun_);
  EXPECT_EQ(out_, "yes\n" + read("group"));
  EXPECT_EQ(err_, "apart\n");
  EXPECT_EQ(code(), 5);
  EXPECT_TRUE(ended_.empty());  // the task goes on
}

TEST_P(ExecSessionTest, ReadsItsInputToTheEnd) {
  run("cat; echo over");
  ASSERT_TRUE(until([&] { return begun_; }));
  client_->send_bytes(wire::piece_bytes(Channel::kStdin, std::string("a\0b\n", 4)));
  say(R"({"end":true})");
  ASSERT_TRUE(settled());
  EXPECT_EQ(out_, std::string("a\0b\nover\n", 9));
  EXPECT_EQ(taken_, 4u);
  EXPECT_EQ(code(), 0);
}

TEST_P(ExecSessionTest, GivesATerminalItsSizeAndItsKeys) {
  run("trap 'echo interrupted; exit 4' INT; /bin/busybox stty size; : > /dev/tty && echo ours; "
      "while :; do sleep 0.05; done",
      /*terminal=*/true);
  ASSERT_TRUE(until([&] { return out_.find("ours\r\n") != std::string::npos; }));
  EXPECT_EQ(out_, "33 101\r\nours\r\n");
  client_->send_bytes(wire::piece_bytes(Channel::kStdin, "\x03"));
  ASSERT_TRUE(settled());
  EXPECT_NE(out_.find("interrupted"), std::string::npos);
  EXPECT_EQ(code(), 4);
}

TEST_P(ExecSessionTest, IsToldThatItsTerminalHasAnotherSize) {
  run("trap '/bin/busybox stty size; exit 0' WINCH; echo up; while :; do sleep 0.05; done",
      /*terminal=*/true);
  ASSERT_TRUE(until([&] { return out_.find("up") != std::string::npos; }));
  say(R"({"resize":{"rows":12,"columns":34}})");
  ASSERT_TRUE(settled());
  EXPECT_NE(out_.find("12 34"), std::string::npos);
}

TEST_P(ExecSessionTest, WaitsForASlowReaderWithOneWindow) {
  takes_ = false;
  run("head -c 3000000 /dev/zero; echo end");
  ASSERT_TRUE(until([&] { return out_.size() == wire::kWindow_bytes; }));
  EXPECT_FALSE(loop_.run_until([&] { return settled_; }, std::chrono::milliseconds(200)));
  EXPECT_EQ(out_.size(), wire::kWindow_bytes);
  takes_ = true;
  say(fmt::format(R"({{"took":{}}})", wire::kWindow_bytes));
  ASSERT_TRUE(settled());
  EXPECT_EQ(out_.size(), 3'000'004u);
  EXPECT_EQ(code(), 0);
}

TEST_P(ExecSessionTest, EndsWithItsClientWhateverItIgnores) {
  run("trap '' HUP TERM INT; echo up; setsid sleep 300 & sleep 300");
  ASSERT_TRUE(until([&] { return out_ == "up\n"; }));
  EXPECT_GT(marked(), marked_);
  client_.reset();
  ASSERT_TRUE(settled(/*tells=*/false));
  EXPECT_EQ(marked(), marked_);
  EXPECT_TRUE(ended_.empty());
}

TEST_P(ExecSessionTest, EndsWhatItLeavesInTheBackground) {
  run("setsid sleep 300 >/dev/null 2>&1 & exit 0");
  ASSERT_TRUE(settled());
  EXPECT_EQ(code(), 0);
  EXPECT_EQ(marked(), marked_);
}

TEST_P(ExecSessionTest, GetsSignals) {
  run("trap 'echo got; exit 6' USR1; echo up; while :; do sleep 0.05; done");
  ASSERT_TRUE(until([&] { return out_ == "up\n"; }));
  say(fmt::format(R"({{"signal":{}}})", SIGUSR1));
  ASSERT_TRUE(settled());
  EXPECT_EQ(out_, "up\ngot\n");
  EXPECT_EQ(code(), 6);
}

TEST_P(ExecSessionTest, EndsWithTheTaskAndSaysSo) {
  run("echo up; sleep 300");
  ASSERT_TRUE(until([&] { return out_ == "up\n"; }));
  execs_->end(3, "the task ended");
  ASSERT_TRUE(settled());
  EXPECT_EQ(exit_.value("cause", ""), "the task ended");
}

TEST_P(ExecSessionTest, ThatCannotBeStartedSaysWhy) {
  ExecOrder order;
  order.id = "b";
  order.program.command = {"/no/such/program"};
  execs_.emplace(host_, root_, [this] { settled_ = true; });
  execs_->open(order, of_attempt(""));
  ASSERT_TRUE(settled());
  EXPECT_FALSE(begun_);
  EXPECT_EQ(code(), 127);
  EXPECT_NE(exit_.value("cause", "").find("/no/such/program"), std::string::npos);
}

TEST_P(ExecSessionTest, WithoutATaskTellsItsClient) {
  execs_.emplace(host_, root_, [this] { settled_ = true; });
  ExecOrder order;
  order.id = "c";
  order.program.command = {"true"};
  execs_->open(order, Error{ErrorKind::kConflict, "not_running", "no", ""});
  ASSERT_TRUE(settled());
  EXPECT_EQ(error_, "not_running");
}

TEST_P(ExecSessionTest, APeerThatSendsBeyondTheWindowIsCutOff) {
  run("sleep 300");
  ASSERT_TRUE(until([&] { return begun_; }));
  const std::string piece =
      wire::piece_bytes(Channel::kStdin, std::string(wire::kPiece_bytes, 'x'));
  for (int i = 0; i < 12; ++i) client_->send_bytes(piece);
  ASSERT_TRUE(settled());
  EXPECT_EQ(error_, "bad_message");
}

TEST_P(ExecSessionTest, OfAFormerAgentIsEnded) {
  run("trap '' HUP TERM; echo up; sleep 300");
  ASSERT_TRUE(until([&] { return out_ == "up\n"; }));
  EXPECT_GT(marked(), marked_);
  execs_.reset();  // the agent was killed: nothing is told to anybody
  ASSERT_EQ(exec_files(root_).size(), 1u);
  settled_ = false;
  execs_.emplace(host_, root_, [this] { settled_ = true; });
  TaskPlan former;
  former.path = exec_files(root_)[0];
  former.attempt = of_attempt("").attempt;
  execs_->end_former(former);
  EXPECT_FALSE(execs_->empty());
  ASSERT_TRUE(settled(/*tells=*/false));
  EXPECT_EQ(marked(), marked_);
  EXPECT_TRUE(exec_files(root_).empty());
}

INSTANTIATE_TEST_SUITE_P(Runners, ExecSessionTest, ::testing::Values(false, true),
                         [](const auto& one) { return one.param ? "Container" : "Process"; });

}  // namespace
}  // namespace dove::agent
