#include "containers/ways.h"

#include <gtest/gtest.h>

namespace dove::containers {
namespace {

Ways ways() {
  Ways ways;
  name_ways("/var/lib/dove-agent", ways);
  ways.nft = "/usr/sbin/nft";
  ways.rules = "/data/ways/rules";
  ways.routes = {"10.0.0.0/8"};
  return ways;
}

TEST(Ways, OutIsEverywhereNowhereOrWhatIsNamed) {
  const auto routes = [](const char* given) {
    const auto parsed = parse_routes(given);
    return parsed.ok() ? *parsed : std::vector<std::string>{parsed.error().code};
  };
  using Routes = std::vector<std::string>;
  EXPECT_EQ(routes("yes"), Routes{"0.0.0.0/0"});
  EXPECT_EQ(routes("no"), Routes{});
  EXPECT_EQ(routes("10.0.0.0/8,10.1.2.3/32,10.0.0.0/8"), (Routes{"10.0.0.0/8", "10.1.2.3/32"}));
  for (const char* bad : {"maybe", "10.0.0.0", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/x", "::/0"}) {
    EXPECT_EQ(routes(bad), Routes{"bad_setting"}) << bad;
  }
}

TEST(Ways, AgentsOfOneMachineHaveTablesAndDevicesOfTheirOwn) {
  Ways other;
  name_ways("/var/lib/other", other);
  EXPECT_NE(ways().table, other.table);
  EXPECT_NE(ways().device, other.device);
  EXPECT_LE(ways().device.size() + 4, 15u) << "four digits, and the kernel's limit";
}

TEST(Ways, AControllerOnLoopbackIsReachedAtTheGateway) {
  const ControllerPlace here{"127.0.0.1", 7717};
  EXPECT_EQ(controller_inside(here), "http://100.112.0.1:7717");
  EXPECT_NE(rules_text(ways(), here).find("tcp dport 7717 dnat ip to 127.0.0.1:7717"),
            std::string::npos);
  const ControllerPlace there{"10.0.0.9", 7717};
  EXPECT_EQ(controller_inside(there), "");
  const std::string rules = rules_text(ways(), there);
  EXPECT_EQ(rules.find("dnat ip"), std::string::npos);
  EXPECT_NE(rules.find("ip daddr 10.0.0.9 tcp dport 7717 accept"), std::string::npos);
}

TEST(Ways, AResolverThatIsTheMetadataServerAnswersAsAResolverOnly) {
  const std::string drops = "ip daddr 169.254.0.0/16 drop";
  EXPECT_NE(rules_text(ways(), {}).find(drops), std::string::npos);
  Ways named = ways();
  named.routes.emplace_back("169.254.169.254/32");  // on purpose
  EXPECT_EQ(rules_text(named, {}).find(drops), std::string::npos);
}

TEST(Ways, DoveContainIsToldWhatIsOpenAndWhatIsClosed) {
  const std::string text = ways_text(ways());
  EXPECT_NE(text.find("route 10.0.0.0/8\n"), std::string::npos);
  EXPECT_NE(text.find("closed 169.254.0.0/16\n"), std::string::npos);
  EXPECT_NE(text.find("rules /data/ways/rules\n"), std::string::npos);
}

TEST(Ways, ResolversOnTheNodesLoopbackAreNotGiven) {
  const std::string plain = "search lab\nnameserver 10.0.0.53\n";
  EXPECT_EQ(resolver_text(plain, ""), plain);
  const std::string stub = "nameserver 127.0.0.53\noptions edns0\n";
  EXPECT_EQ(resolver_text(stub, plain), plain);
  EXPECT_EQ(resolver_text(stub, ""), "options edns0\n");
  EXPECT_EQ(resolver_text("nameserver 127.0.0.1\nnameserver 10.0.0.2\n", plain),
            "nameserver 10.0.0.2\n");
  EXPECT_EQ(resolvers_in(plain), std::vector<std::string>{"10.0.0.53"});
}

}  // namespace
}  // namespace dove::containers
