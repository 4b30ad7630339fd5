// What an administrator may do with the controllers of a cluster.
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class Controllers : public testing::Test {
 protected:
  Controllers() { options.first_level = kFirstLevel; }

  Answer finish() {
    LiveApi live(store, policies::standard_policies(), options);
    Answer answer = live.call("POST", "/v1/controllers/finish-upgrade");
    level = live.call("GET", "/v1/cluster").body.at("level").get<int>();
    return answer;
  }
  void stands_by(std::int32_t reads) {
    options.controllers.all = [reads] {
      return std::vector<ControllerPeer>{{"ctl1:7717", "", "0.2.0", true, 0, 0},
                                         {"ctl2:7717", "", "0.1.0", false, 0, 0, reads}};
    };
  }

  store::MemoryStore store;
  LiveOptions options;
  int level = 0;
};

TEST_F(Controllers, AnUpgradeIsFinishedOnce) {
  const Answer first = finish();
  EXPECT_EQ(first.status, 200) << first.response.body;
  EXPECT_EQ(first.body.at("level"), kNewestLevel);
  EXPECT_EQ(level, kNewestLevel);
  EXPECT_EQ(finish().code(), "upgrade_finished") << "also after a start";
}

TEST_F(Controllers, ANewClusterHasNothingToFinish) {
  options.first_level = kNewestLevel;
  EXPECT_EQ(finish().code(), "upgrade_finished");
}

TEST_F(Controllers, OneThatCouldNotLeadAgainKeepsItFromBeingFinished) {
  stands_by(kFirstLevel);
  const Answer refused = finish();
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "controller_older");
  EXPECT_NE(refused.response.body.find("ctl2:7717 (dove 0.1.0)"), std::string::npos);
  EXPECT_EQ(level, kFirstLevel);
  stands_by(kNewestLevel);
  EXPECT_EQ(finish().status, 200);
}

TEST_F(Controllers, OthersThatWereNotReadYetMayBeOlder) {
  options.controllers.all = [] {
    return std::vector<ControllerPeer>{{"ctl1:7717", "", "0.2.0", true, 0, 0}};
  };
  options.controllers.are_known = [] { return false; };
  EXPECT_EQ(finish().code(), "controllers_unknown");
  EXPECT_EQ(level, kFirstLevel);
}

TEST_F(Controllers, EachSaysWhatItRefused) {
  options.controllers.all = [] {
    ControllerPeer standby{"ctl2:7717", "", "0.2.0", false, 0, 2'000'000};
    standby.refused = {
        3, 1, {{{"bob", "10.0.0.7", "getEvents", "not_auditor", 2}, /*ago_ms=*/500}}};
    return std::vector<ControllerPeer>{{"ctl1:7717", "", "0.2.0", true, 0, 0}, standby};
  };
  LiveApi live(store, policies::standard_policies(), options);
  const Json all = live.call("GET", "/v1/controllers").body.at("controllers");
  EXPECT_EQ(all.at(0).at("refused"),
            (Json{{"calls", 0}, {"handshakes", 0}, {"last", Json::array()}}));
  const Json bob{
      {"who", "bob"}, {"address", "10.0.0.7"}, {"operation", "getEvents"}, {"code", "not_auditor"},
      {"times", 2},   {"ago_ms", 2'500}};
  EXPECT_EQ(all.at(1).at("refused"),
            (Json{{"calls", 3}, {"handshakes", 1}, {"last", Json::array({bob})}}));
}

TEST_F(Controllers, WhatTheLeaderRefusesIsCounted) {
  const auto tally = std::make_shared<listener::RefusalTally>([] { return 0; });
  options.refused = tally;
  LiveApi live(store, policies::standard_policies(), options);
  const std::string nobodys = "nobody-was-given-this-token";
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &nobodys).status, 401);
  ASSERT_TRUE(live.until([&] { return tally->said().calls == 1; }));
  EXPECT_EQ(tally->said().last.at(0).calls.operation, "listJobs");
  EXPECT_EQ(tally->said().last.at(0).calls.code, "token_invalid");
}

}  // namespace
}  // namespace dove::server
