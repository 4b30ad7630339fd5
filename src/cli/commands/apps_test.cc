// dove notebook, code, tensorboard, desktop, app list, open and port-forward as far as no task is
// needed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_bed_for_test.h"
#include "cli/command.h"

namespace dove::cli {
namespace {

using nlohmann::json;

class Apps : public CliTest {
 protected:
  json submitted(std::vector<std::string> words) {
    server_.set("POST /v1/jobs", {201, R"({"id":12,"ids":[12],"warnings":[]})"});
    const Outcome outcome = run(std::move(words));
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    EXPECT_NE(outcome.out.find("Submitted job 12"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("`dove open 12` leads to it"), std::string::npos) << outcome.out;
    return json::parse(server_.body_of("POST /v1/jobs"));
  }
  static std::string last_of(const json& command) { return command.back().get<std::string>(); }
};

TEST_F(Apps, ANotebookIsAJobWithAnApp) {
  setenv("OF_MY_SHELL", "yes", 1);
  const json body = submitted({"dove", "notebook", "--detach", "-c", "3", "-t", "60", "--",
                               "--ServerApp.root_dir=/it's $(mine)"});
  EXPECT_EQ(body["app"], (json{{"name", "notebook"},
                               {"socket", "app"},
                               {"health", "/api"},
                               {"path", "/lab"},
                               {"activity", "jupyter"}}));
  EXPECT_EQ(body["name"], "notebook");
  EXPECT_EQ(body["time_limit_s"], 3600);
  EXPECT_EQ(body["environment"]["OF_MY_SHELL"], "yes");
  EXPECT_FALSE(body["environment"].contains("DOVE_URL"));
  EXPECT_FALSE(body["workdir"].get<std::string>().empty());
  const json& command = body["command"];
  EXPECT_EQ(command[0], "/bin/sh");
  EXPECT_EQ(command[4], "jupyter");
  // An argument is an argument, whatever a shell would make of it.
  EXPECT_EQ(last_of(command), "--ServerApp.root_dir=/it's $(mine)");
  EXPECT_EQ(command[2].get<std::string>().find("mine"), std::string::npos);
}

TEST_F(Apps, InAnImageNothingIsOfTheShellHere) {
  setenv("OF_MY_SHELL", "yes", 1);
  const json body = submitted({"dove", "code", "--detach", "--image=coder", "--program=/opt/code"});
  EXPECT_EQ(body["container"]["image"], "coder");
  EXPECT_FALSE(body["environment"].contains("OF_MY_SHELL"));
  EXPECT_FALSE(body.contains("workdir"));
  EXPECT_EQ(last_of(body["command"]), "/opt/code");
}

TEST_F(Apps, TensorBoardReadsADirectoryOrThatOfAJob) {
  json body = submitted({"dove", "tensorboard", "--detach", "runs"});
  EXPECT_EQ(body["command"][0], "python3");
  EXPECT_EQ(last_of(body["command"]), "runs");
  server_.set("GET /v1/jobs/7", {200, R"({"id":7,"exec":{"workdir":"/shared/ann/run"}})"});
  body = submitted({"dove", "tensorboard", "--detach", "7"});
  EXPECT_EQ(last_of(body["command"]), "/shared/ann/run");
  server_.set("GET /v1/jobs/7", {200, R"({"id":7,"exec":{}})"});
  Outcome outcome = run({"dove", "tensorboard", "7"});
  EXPECT_EQ(outcome.code, kExitConflict);
  EXPECT_NE(outcome.err.find("name the log directory"), std::string::npos) << outcome.err;
  server_.set("GET /v1/jobs/7", {200, R"({"id":7})"});
  EXPECT_EQ(run({"dove", "tensorboard", "7"}).code, kExitDenied);
  EXPECT_EQ(run({"dove", "tensorboard"}).code, kExitUsage);
}

TEST_F(Apps, ADesktopRunsTheSessionThatIsNamed) {
  const json body = submitted({"dove", "desktop", "--detach", "xfce4-session"});
  EXPECT_EQ(body["app"], (json{{"name", "desktop"},
                               {"socket", "app"},
                               {"health", "/activity"},
                               {"path", "/"},
                               {"activity", "/activity"}}));
  EXPECT_EQ(body["command"][0], "python3");
  EXPECT_EQ(last_of(body["command"]), "xfce4-session");
}

TEST_F(Apps, TheListIsTheServersOwn) {
  server_.set("GET /v1/apps", {200, R"({"next":null,"log_head":1,"apps":[
      {"name":"board","title":"Ours","project":"nlp","domain":"","built_in":false,"job":{}},
      {"name":"of-tomorrow","title":"A new one","built_in":true,"job":{}}]})"});
  const Outcome outcome = run({"dove", "app", "list"});
  EXPECT_EQ(outcome.out,
            "NAME         TITLE      OPEN TO\n"
            "board        Ours       project nlp\n"
            "of-tomorrow  A new one  everybody (built in)\n");
  EXPECT_EQ(run({"dove", "app", "list", "-o", "name"}).out, "board\nof-tomorrow\n");
  EXPECT_EQ(run({"dove", "app", "start", "nothing"}).code, kExitNotFound);
}

TEST_F(Apps, WhatANewerServerHasBuiltInIsStartedAsItSays) {
  server_.set("GET /v1/apps", {200, R"({"next":null,"log_head":1,"apps":[
      {"name":"of-tomorrow","title":"A new one","built_in":true,
       "job":{"command":["serve"],"app":{"name":"of-tomorrow","socket":"app"}}}]})"});
  const json body = submitted({"dove", "app", "start", "of-tomorrow", "--detach", "--", "--fast"});
  EXPECT_EQ(body["command"], json({"serve", "--fast"}));
  EXPECT_EQ(body["app"]["socket"], "app");
}

TEST_F(Apps, OpenWantsAJobWithAnApp) {
  server_.set("GET /v1/jobs/7", {200, R"({"id":7,"exec":{"command":["true"]}})"});
  Outcome outcome = run({"dove", "open", "7"});
  EXPECT_EQ(outcome.code, kExitConflict);
  EXPECT_NE(outcome.err.find("`dove port-forward 7 PORT`"), std::string::npos) << outcome.err;
  server_.set("GET /v1/jobs/7", {200, R"({"id":7})"});
  EXPECT_EQ(run({"dove", "open", "7"}).code, kExitDenied);
}

TEST_F(Apps, OpenSaysHowASessionEndedAndWhatItSaidLast) {
  server_.set("GET /v1/jobs/7", {200, R"({"id":7,"phase":"ended","state":"failed","exit_code":127,
      "exec":{"app":{"name":"notebook","socket":"app"}}})"});
  server_.set("GET /v1/jobs/7/logs", {200, "there is no program 'jupyter'\n\x1b[31mred\n"});
  const Outcome outcome = run({"dove", "open", "7"});
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_NE(outcome.err.find("job 7 has ended: failed, exit code 127; install it where the job "
                             "runs (pip install jupyterlab)"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("it said last:\n  there is no program 'jupyter'\n"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos) << "escapes stay out of the terminal";
}

TEST_F(Apps, ASessionIsSharedByName) {
  server_.set("POST /v1/jobs/7/shares", {200, R"({"job":7,"shared_with":["bob","eve"]})"});
  const Outcome shared = run({"dove", "share", "7", "eve", "bob"});
  EXPECT_EQ(shared.out, "job 7 is shared with bob, eve\n") << shared.err;
  EXPECT_EQ(json::parse(server_.body_of("POST /v1/jobs/7/shares")),
            (json{{"users", {"eve", "bob"}}}));
  server_.set("DELETE /v1/jobs/7/shares/b%2Fb", {200, R"({"job":7,"shared_with":[]})"});
  server_.set("DELETE /v1/jobs/7/shares/b/b", {200, R"({"job":7,"shared_with":[]})"});
  EXPECT_EQ(run({"dove", "share", "7", "--remove", "b/b"}).out, "job 7 is shared with nobody\n");
  EXPECT_EQ(run({"dove", "share", "7"}).code, kExitUsage);
  EXPECT_EQ(run({"dove", "share", "7", "bob", "--remove", "eve"}).code, kExitUsage);
}

TEST_F(Apps, AJobSaysWhereItsSessionIs) {
  server_.set("GET /v1/jobs/7", {200, R"({"id":7,"name":"lab","state":"running","phase":"active",
      "session_url":"https://j7.a.org/lab","shared_with":["bob"]})"});
  const std::string shown = run({"dove", "show", "7"}).out;
  EXPECT_NE(shown.find("Session: https://j7.a.org/lab\nShared with bob\n"), std::string::npos)
      << shown;
}

TEST_F(Apps, WordsThatNameNoPortAreNamed) {
  for (const char* word :
       {"0", "65536", "x", "80:", ":80", "1:2:3", "unix:", "9000:unix:", "80:0"}) {
    const Outcome outcome = run({"dove", "port-forward", "7", "--", word});
    EXPECT_EQ(outcome.code, kExitUsage) << word;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(run({"dove", "port-forward", "7"}).code, kExitUsage);
  EXPECT_EQ(run({"dove", "notebook", "--local-port=65536"}).code, kExitUsage);
  EXPECT_EQ(run({"dove", "notebook", "--patience=long"}).code, kExitUsage);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Apps, ARefusedForwardIsToldAsTheServerSaysIt) {
  server_.set("GET /v1/jobs/7/forward",
              {409, R"({"code":"not_running","detail":"job 7 is not running, it is held"})"});
  const Outcome outcome = run({"dove", "port-forward", "7", "8080"});
  EXPECT_EQ(outcome.code, kExitConflict);
  EXPECT_NE(outcome.err.find("job 7 is not running, it is held"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace dove::cli
