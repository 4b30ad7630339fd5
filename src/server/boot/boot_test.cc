// How a node's machine boots and joins, over the API.
#include <gtest/gtest.h>

#include <atomic>

#include "backends/native/agents.h"
#include "server/api_fixture.h"
#include "server/boot/boot_script.h"
#include "telemetry/clock.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

const std::string kNobody;

class BootTest : public testing::Test {
 protected:
  static Json config() {
    return Json{{"nodes", {"n[1-9]"}},
                {"controller", "http://127.0.0.1:7717"},
                {"kernel", "http://10.0.0.2/vmlinuz"},
                {"from", {"127.0.0.0/8"}},
                {"from_root", false}};
  }
  Answer declare(const Json& object) {
    return live.call("PUT", "/v1/objects/boot_config/b", object);
  }
  Answer declare_with(const char* field, const Json& value) {
    Json object = config();
    object[field] = value;
    return declare(object);
  }
  Answer arm(const std::string& node, std::int64_t within_s = 900) {
    return live.call("POST", "/v1/nodes/" + node + "/boot", Json{{"within_s", within_s}});
  }
  Answer ask(const std::string& node, const std::string& secret = kNobody) {
    return live.call("POST", "/v1/boot/" + node + "/join-token", Json::object(), {}, &secret);
  }
  int join(const std::string& node, const std::string& token) {
    FakeAgent agent(live, node);
    return live.call("POST", "/v1/agents/join", agent.greeting(), {}, &token).status;
  }

  std::atomic<std::int64_t> now_us_ = telemetry::now_us();
  store::MemoryStore store;
  LiveApi live{store, policies::standard_policies(), {.clock = [this] { return now_us_.load(); }}};
};

TEST_F(BootTest, TheScriptSaysHowToBootAndHoldsNoSecret) {
  Json object = config();
  object["initrd"] = "http://10.0.0.2/initrd";
  object["arguments"] = "console=ttyS0";
  object["image"] = "http://10.0.0.2/root.squashfs";
  object["image_sha256"] = std::string(64, 'a');
  object["secret_sha256"] = std::string(64, 'b');
  ASSERT_EQ(declare(object).status, 200);
  const auto script = [&](const std::string& node) {
    return live.call("GET", "/v1/boot/" + node + "/script", nullptr, {}, &kNobody);
  };
  EXPECT_EQ(script("n1").response.body,
            "#!ipxe\n"
            "kernel http://10.0.0.2/vmlinuz initrd=initrd console=ttyS0 dove.node=n1 "
            "dove.url=http://127.0.0.1:7717 dove.image=http://10.0.0.2/root.squashfs "
            "dove.image_sha256=" +
                std::string(64, 'a') +
                "\n"
                "initrd --name initrd http://10.0.0.2/initrd\n"
                "boot\n");
  EXPECT_EQ(script("other").code(), "no_boot_config");
  EXPECT_EQ(script("n1%0Ashell").code(), "bad_name") << "a name is part of a line of the script";
}

TEST_F(BootTest, AnExpectedBootGivesOneTokenForItsNodeAlone) {
  ASSERT_EQ(declare(config()).status, 200);
  EXPECT_EQ(ask("n1").code(), "boot_not_armed");
  ASSERT_EQ(arm("n1").status, 200);
  EXPECT_EQ(ask("n2").code(), "boot_not_armed");
  const Answer first = ask("n1");
  ASSERT_EQ(first.status, 201) << first.response.body;
  EXPECT_EQ(first.body.at("expires_at_us"), now_us_ + 600'000'000);
  EXPECT_EQ(ask("n1").code(), "boot_used");
  const std::string token = first.body.at("token");
  EXPECT_EQ(join("n2", token), 401) << "it is n1's";
  EXPECT_EQ(join("n1", token), 201);
  EXPECT_EQ(join("n1", token), 401) << "used up";
}

TEST_F(BootTest, ABootThatComesLateOrIsTakenBackGivesNone) {
  declare(config());
  arm("n1", 60);
  now_us_ += 60'000'000;
  EXPECT_EQ(ask("n1").code(), "boot_expired");
  arm("n1");
  EXPECT_EQ(arm("n1", 0).status, 200);
  EXPECT_EQ(ask("n1").code(), "boot_not_armed");
  EXPECT_EQ(arm("n1", 0).code(), "boot_not_armed");
}

TEST_F(BootTest, ATokenIsGoodForItsLifetime) {
  declare_with("token_lifetime", "2m");
  arm("n1");
  const std::string token = ask("n1").body.at("token");
  now_us_ += 120'000'000;
  EXPECT_EQ(join("n1", token), 401);
}

TEST_F(BootTest, OnlyTheRightPlaceAsksAndLearnsNothingElsewhere) {
  declare_with("from", {"10.0.0.0/8"});
  arm("n1");
  EXPECT_EQ(ask("n1").code(), "boot_not_from_here");
  EXPECT_EQ(ask("unknown").code(), "boot_not_from_here");
  declare_with("from_root", true);
  EXPECT_EQ(ask("n1").code(), "boot_not_from_root");
  declare(config());
  EXPECT_EQ(ask("n1").status, 201) << "what was refused has used up nothing";
  // Auditors see who asked in vain.
  const auto is_logged = [&] {
    const std::string log =
        live.call("GET", "/v1/events?kind=CallsRefused&limit=1000").response.body;
    return log.find("boot_not_from_here") != std::string::npos &&
           log.find("issueBootToken") != std::string::npos;
  };
  // Refusals are written every two seconds. A call may not be made while another one is waited for.
  for (int i = 0; i < 400 && !is_logged(); ++i) {
    live.loop.run_until([] { return false; }, std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(is_logged());
}

TEST_F(BootTest, TheSecretOfItsConfigIsAskedFor) {
  declare_with("secret_sha256", wire::sha256_hex("open-sesame"));
  arm("n1");
  EXPECT_EQ(ask("n1").code(), "boot_secret_wrong");
  EXPECT_EQ(ask("n1", "open").code(), "boot_secret_wrong");
  EXPECT_EQ(ask("n1", "open-sesame").status, 201);
}

TEST_F(BootTest, AConnectedNodeIsNotBeingBooted) {
  declare(config());
  FakeAgent agent(live, "n1");
  agent.connect();
  arm("n1");
  EXPECT_EQ(ask("n1").code(), "boot_connected");
}

TEST_F(BootTest, OnlyAnAdministratorSaysWhatBoots) {
  const std::string ada =
      live.call("POST", "/v1/users/ada/token?create=1").body.at("token").get<std::string>();
  EXPECT_EQ(arm("n1").code(), "no_boot_config");
  declare(config());
  EXPECT_EQ(live.call("POST", "/v1/nodes/n1/boot", Json::object(), {}, &ada).code(), "admin_only");
  EXPECT_EQ(live.call("PUT", "/v1/objects/boot_config/x", config(), {}, &ada).status, 403);
  EXPECT_EQ(live.call("GET", "/v1/objects/boot_config/b", nullptr, {}, &ada).status, 404);
}

TEST_F(BootTest, AMalformedConfigIsRefusedWithItsField) {
  const auto field = [&](const char* name, const Json& value) {
    const Answer answer = declare_with(name, value);
    EXPECT_EQ(answer.status, 400) << name << ' ' << value;
    return answer.body.value("field", "");
  };
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"nodes", Json::array()},
                                                           {"controller", ""},
                                                           {"controller", "10.0.0.1:7717"},
                                                           {"controller", "ftp://10.0.0.1"},
                                                           {"controller", "http://a,ftp://b"},
                                                           {"controller", "http://a,"},
                                                           {"kernel", ""},
                                                           {"kernel", "http://10.0.0.2/vm linuz"},
                                                           {"kernel", "http://10.0.0.2/a||shell"},
                                                           {"kernel", "#http://10.0.0.2/a"},
                                                           {"initrd", "initrd"},
                                                           {"arguments", "quiet || shell"},
                                                           {"arguments", "quiet\nshell"},
                                                           {"arguments", "#quiet"},
                                                           {"arguments", "quiet #1"},
                                                           {"arguments", "caf\u00e9"},
                                                           {"image_sha256", std::string(64, 'a')},
                                                           {"image_sha256", "short"},
                                                           {"from", Json::array()},
                                                           {"from", {"0.0.0.0/0"}},
                                                           {"from", {"0.0.0.0/00"}},
                                                           {"from", {"::/0"}},
                                                           {"from", {"::/64"}},
                                                           {"from", {"::ffff:0:0/96"}},
                                                           {"from", {"2000::/3"}},
                                                           {"from", {"10.0.0.1/8"}},
                                                           {"secret_sha256", "secret"},
                                                           {"token_lifetime", "2h"},
                                                           {"token_lifetime", "0s"}}) {
    EXPECT_EQ(field(name, value), name) << value;
  }
  EXPECT_EQ(declare_with("image", "http://10.0.0.2/root").body.value("field", ""), "image_sha256");
}

TEST_F(BootTest, AKernelTakesTheLongestCommandLine) {
  const auto url = [](std::size_t size) {
    return "http://a/" + std::string(size - std::string("http://a/").size(), 'x');
  };
  BootConfig longest;
  longest.arguments = std::string(724, 'x');
  longest.controller = url(512) + "," + url(511);
  longest.initrd = "http://10.0.0.2/initrd";
  Json object = config();
  object["controller"] = longest.controller;
  object["initrd"] = longest.initrd;
  object["arguments"] = longest.arguments;
  EXPECT_EQ(declare(object).code(), "too_long");
  longest.arguments.pop_back();
  object["arguments"] = longest.arguments;
  EXPECT_EQ(declare(object).status, 200);
  longest.image_sha256 = std::string(64, 'a');
  const std::string script = boot_script(longest, std::string(64, 'n'), std::string(64, 'a'));
  const std::size_t begin = script.find("initrd=initrd");
  const std::size_t size = script.find('\n', begin) - begin + std::string(" dove.image=").size();
  EXPECT_LT(size, 2048u);
}

TEST_F(BootTest, UsersDoNotSeeThatAConfigIsGone) {
  const std::string ada =
      live.call("POST", "/v1/users/ada/token?create=1").body.at("token").get<std::string>();
  declare(config());
  ASSERT_EQ(live.call("DELETE", "/v1/objects/boot_config/b").status, 204);
  const auto gone = [&](const std::string* token) {
    return live.call("GET", "/v1/events?kind=ObjectDeleted&limit=1000", nullptr, {}, token)
               .response.body.find("boot_config") != std::string::npos;
  };
  EXPECT_TRUE(gone(nullptr));
  EXPECT_FALSE(gone(&ada));
}

TEST(BootLevel, AFormerVersionKnowsNoBoots) {
  store::MemoryStore store;
  LiveApi live{store, policies::standard_policies(), {.first_level = kFirstLevel}};
  const Json object{{"nodes", {"*"}},
                    {"controller", "http://127.0.0.1:7717"},
                    {"kernel", "http://10.0.0.2/vmlinuz"},
                    {"from", {"127.0.0.1"}}};
  EXPECT_EQ(live.call("PUT", "/v1/objects/boot_config/b", object).code(), "level_needed");
  EXPECT_EQ(live.call("POST", "/v1/nodes/n1/boot", Json::object()).code(), "level_needed");
}

}  // namespace
}  // namespace dove::server
