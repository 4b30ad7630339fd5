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

}  // namespace
}  // namespace dove::server
