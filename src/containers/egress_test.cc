#include "containers/egress.h"

#include <gtest/gtest.h>

namespace dove::containers {
namespace {

Egress egress() {
  Egress egress;
  name_egress("/var/lib/dove-agent", egress);
  egress.nft = "/usr/sbin/nft";
  egress.rules = "/data/ways/rules";
  egress.routes = {"10.0.0.0/8"};
  return egress;
}

TEST(Egress, OutIsEverywhereNowhereOrWhatIsNamed) {
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

TEST(Egress, AgentsOfOneMachineHaveTablesAndDevicesOfTheirOwn) {
  Egress other;
  name_egress("/var/lib/other", other);
  EXPECT_NE(egress().table, other.table);
  EXPECT_NE(egress().device, other.device);
  EXPECT_LE(egress().device.size() + 4, 15u) << "four digits, and the kernel's limit";
}

TEST(Egress, AControllerOnLoopbackIsReachedAtTheGateway) {
  const std::vector<ControllerPlace> here{{"127.0.0.1", 7717}};
  EXPECT_EQ(controllers_inside(here), "http://100.112.0.1:7717");
  EXPECT_TRUE(routes_to(here).empty());
  EXPECT_NE(rules_text(egress(), here).find("tcp dport 7717 dnat ip to 127.0.0.1:7717"),
            std::string::npos);
  const std::vector<ControllerPlace> there{{"10.0.0.9", 7717}};
  EXPECT_EQ(controllers_inside(there), "");
  const std::string rules = rules_text(egress(), there);
  EXPECT_EQ(rules.find("dnat ip"), std::string::npos);
  EXPECT_NE(rules.find("ip daddr 10.0.0.9 tcp dport 7717 accept"), std::string::npos);
}

// Whichever leads.
TEST(Egress, EveryControllerIsReached) {
  const std::vector<ControllerPlace> there{{"10.0.0.9", 7717, true, "head1"},
                                           {"10.0.0.10", 7718, true, "head2"}};
  EXPECT_EQ(controllers_inside(there), "") << "by the names that the node uses";
  EXPECT_EQ(routes_to(there), (std::vector<std::string>{"10.0.0.9/32", "10.0.0.10/32"}));
  const std::string rules = rules_text(egress(), there);
  EXPECT_NE(rules.find("ip daddr 10.0.0.9 tcp dport 7717 accept"), std::string::npos);
  EXPECT_NE(rules.find("ip daddr 10.0.0.10 tcp dport 7718 accept"), std::string::npos);

  std::vector<ControllerPlace> mixed = there;
  mixed.push_back({"127.0.0.1", 7719, true, "localhost"});
  mixed.push_back({"127.0.0.1", 7720, true, "localhost"});
  mixed.push_back({"", 7721, true, "unknown"});
  EXPECT_EQ(controllers_inside(mixed),
            "https://head1:7717,https://head2:7718,https://100.112.0.1:7719,"
            "https://100.112.0.1:7720,https://unknown:7721");
  EXPECT_EQ(routes_to(mixed), routes_to(there));
  const std::string led_in = rules_text(egress(), mixed);
  EXPECT_NE(led_in.find("tcp dport 7719 dnat ip to 127.0.0.1:7719"), std::string::npos);
  EXPECT_NE(led_in.find("tcp dport 7720 dnat ip to 127.0.0.1:7720"), std::string::npos);
}

TEST(Egress, AResolverThatIsTheMetadataServerAnswersAsAResolverOnly) {
  const std::string drops = "ip daddr 169.254.0.0/16 drop";
  EXPECT_NE(rules_text(egress(), {}).find(drops), std::string::npos);
  Egress named = egress();
  named.routes.emplace_back("169.254.169.254/32");  // on purpose
  EXPECT_EQ(rules_text(named, {}).find(drops), std::string::npos);
}

TEST(Egress, DoveContainIsToldWhatIsOpenAndWhatIsClosed) {
  const std::string text = egress_text(egress());
  EXPECT_NE(text.find("route 10.0.0.0/8\n"), std::string::npos);
  EXPECT_NE(text.find("closed 169.254.0.0/16\n"), std::string::npos);
  EXPECT_NE(text.find("rules /data/ways/rules\n"), std::string::npos);
}

TEST(Egress, ResolversOnTheNodesLoopbackAreNotGiven) {
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
