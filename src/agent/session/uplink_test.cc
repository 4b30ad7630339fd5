#include "agent/session/uplink.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "wire/server.h"
#include "wire/test_peer.h"
#include "wire/tls/authority.h"
#include "wire/tls/granted_for_test.h"

namespace dove::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kDay_s = 24 * 3600;
constexpr char kUri[] = "dove://c/node/n1";

// A controller whose time is `days` days ahead of this machine's clock, which is the node's.
class UplinkTest : public testing::TestWithParam<int> {
 protected:
  UplinkTest() {
    std::string name = std::filesystem::temp_directory_path() / "dove-uplink-XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr, "a temporary directory can be made");
    directory_ = name;
  }
  ~UplinkTest() override { std::filesystem::remove_all(directory_); }

  std::int64_t now_s() const { return std::time(nullptr) + GetParam() * kDay_s; }
  std::string certificate_for(const std::string& request, wire::Grant grant) const {
    grant.now_s = now_s();
    grant.valid_s = grant.valid_s == 0 ? kDay_s : grant.valid_s;
    return authority.issue(request, grant).value();
  }
  wire::TlsServerOptions shown(int valid_days = 30) const {
    wire::TlsServerOptions options;
    options.own = wire::granted(
        authority, {.names = {"127.0.0.1"}, .now_s = now_s(), .valid_s = valid_days * kDay_s});
    options.time.now_s = [this] { return now_s(); };
    return options;
  }
  static void echo(const wire::Request& request,
                   const std::shared_ptr<wire::Responder>& responder) {
    responder->send({200, {}, request.peer_identity});
  }
  // Whom the controller takes the node for.
  static std::string call(wire::Loop& loop, wire::AsyncClient& client) {
    std::optional<Result<wire::Response>> answer;
    wire::Request request;
    request.method = "GET";
    request.target = "/";
    client.call(std::move(request), [&](Result<wire::Response> got) { answer = std::move(got); });
    EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, 20s));
    if (!answer.has_value()) return "no answer";
    return answer->ok() ? (*answer)->body : answer->error().code;
  }

  const wire::Authority authority = wire::Authority::make("test", std::time(nullptr) - 9 * kDay_s);
  std::string directory_;
};

INSTANTIATE_TEST_SUITE_P(Days, UplinkTest, testing::Values(-2, 0, 2));

TEST_P(UplinkTest, AWrongClockPartsNoNodeFromItsController) {
  wire::TlsServerOptions options = shown();
  wire::TestServer people(echo, {}, *wire::Tls::for_server(options));
  options.client_authorities_pem = authority.credentials().chain_pem;
  wire::TestServer agents(echo, {}, *wire::Tls::for_server(options));

  wire::Loop loop;
  Uplink uplink(loop,
                {"n1", directory_, {{true, "127.0.0.1", people.port, ""}}, "", authority.digest()});
  ASSERT_TRUE(uplink.open().ok());
  EXPECT_FALSE(uplink.certified());
  EXPECT_EQ(call(loop, uplink.front()), "") << "a stranger, and no mistake";

  const auto asked = nlohmann::json::parse(*uplink.certificate_request());
  const std::string certificate = certificate_for(asked.at("request"), {.uri = kUri});
  const Result<void> taken = uplink.take({{"certificate", certificate},
                                          {"authority", authority.credentials().chain_pem},
                                          {"agents_port", agents.port}});
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_TRUE(uplink.certified());
  EXPECT_NEAR(std::chrono::duration<double>(uplink.until_renewal(0)).count(), kDay_s * 2.0 / 3, 60);
  uplink.begin_anew();
  EXPECT_EQ(call(loop, uplink.line()), kUri);
  EXPECT_EQ(call(loop, uplink.front()), "") << "by what is known since";
}

// What is waited for is a stream of the session's connection, unless that was left in silence.
TEST_P(UplinkTest, ALineOfItsOwnIsAStreamOfTheSessionsConnection) {
  wire::TlsServerOptions options = shown();
  options.client_authorities_pem = authority.credentials().chain_pem;
  options.http2 = true;
  wire::Loop loop;
  wire::Server agents(loop, {}, echo);
  ASSERT_TRUE(agents.listen("127.0.0.1", 0, *wire::Tls::for_server(options)).ok());
  Uplink uplink(loop, {"n1", directory_, {{true, "127.0.0.1", 1, ""}}, "", authority.digest()});
  ASSERT_TRUE(uplink.open().ok());
  const auto asked = nlohmann::json::parse(*uplink.certificate_request());
  const std::string certificate = certificate_for(asked.at("request"), {.uri = kUri});
  ASSERT_TRUE(uplink
                  .take({{"certificate", certificate},
                         {"authority", authority.credentials().chain_pem},
                         {"agents_port", agents.port()}})
                  .ok());
  uplink.show_token("t");
  uplink.begin_anew();
  EXPECT_EQ(call(loop, uplink.line()), kUri);
  Uplink::OwnLine own(loop, uplink);
  const auto waits = [&] {
    std::optional<bool> ok;
    own.call(
        uplink.request("GET", "", ""),
        [&ok](const Result<wire::Response>& got) { ok = got.ok() && got->status == 200; }, 10s);
    return loop.run_until([&] { return ok.has_value(); }, 20s) && *ok;
  };
  EXPECT_TRUE(waits());
  EXPECT_EQ(agents.connections(), 1u);
  uplink.leave_line();
  EXPECT_TRUE(waits());
  EXPECT_EQ(agents.connections(), 2u);
  uplink.begin_anew();
  EXPECT_EQ(call(loop, uplink.line()), kUri);
  EXPECT_TRUE(waits());
}

// Nodes speak with each other by certificates that outlive an expulsion.
TEST_P(UplinkTest, ANodeThatWasExpelledSpeaksWithNoOther) {
  wire::Loop loop;
  Uplink uplink(loop, {"n1", directory_, {{true, "127.0.0.1", 1, ""}}, "", authority.digest()});
  ASSERT_TRUE(uplink.open().ok());
  const auto asked = nlohmann::json::parse(*uplink.certificate_request());
  const std::string pem = authority.credentials().chain_pem;
  const std::string certificate = certificate_for(asked.at("request"), {.uri = kUri});
  ASSERT_TRUE(
      uplink.take({{"certificate", certificate}, {"authority", pem}, {"agents_port", 1U}}).ok());
  const wire::Credentials other =
      wire::granted(authority, {.uri = "dove://c/node/n2", .now_s = now_s()});
  wire::Server here(loop, {}, echo);
  ASSERT_TRUE(here.listen("127.0.0.1", 0, *uplink.serving(Uplink::Callers::kNodes)).ok());
  wire::TestServer there(echo, {},
                         *wire::Tls::for_server({other, pem, false, {[this] { return now_s(); }}}));
  const auto called = [&] {
    wire::AsyncClient client(
        loop, wire::Address{
                  "127.0.0.1", here.port(),
                  *wire::Tls::for_client({pem, "", kUri, other, {[this] { return now_s(); }}})});
    return call(loop, client);
  };
  const auto calls = [&] {
    wire::AsyncClient client(loop, wire::Address{"127.0.0.1", there.port, uplink.toward("n2")});
    return call(loop, client);
  };
  EXPECT_EQ(called(), "dove://c/node/n2");
  EXPECT_EQ(calls(), kUri);
  uplink.keep_out({"n2"});
  EXPECT_NE(called(), "dove://c/node/n2");
  EXPECT_EQ(calls(), "certificate_refused");
  uplink.keep_out({});
  EXPECT_EQ(called(), "dove://c/node/n2") << "it has joined anew";
}

// What a node may not take: a certificate that has ended by the time that it knows.
TEST_P(UplinkTest, WhatHasEndedIsRefused) {
  wire::TestServer people(echo, {}, *wire::Tls::for_server(shown(/*valid_days=*/-5)));
  wire::Loop loop;
  Uplink uplink(loop,
                {"n1", directory_, {{true, "127.0.0.1", people.port, ""}}, "", authority.digest()});
  ASSERT_TRUE(uplink.open().ok());
  EXPECT_EQ(call(loop, uplink.front()), "certificate_expired");
}

TEST(UplinkAnswer, ACallWaitsForItsConnectionWhereNobodyElseCanBeAsked) {
  wire::Loop loop;
  const auto answers_within = [&](bool secure, std::size_t controllers) {
    const wire::ServerUrl url{secure, "127.0.0.1", 1, ""};
    Uplink uplink(loop, {"n1", "", std::vector(controllers, url), "", ""});
    std::vector<std::chrono::microseconds> out;
    for (int i = 0; i < 5; ++i) {
      out.push_back(uplink.answer_within());
      uplink.timed_out();
    }
    return out;
  };
  const std::vector<std::chrono::microseconds> same(5, 30s);
  EXPECT_EQ(answers_within(true, 1), (std::vector<std::chrono::microseconds>{
                                         20s + 30s, 40s + 30s, 80s + 30s, 100s + 30s, 100s + 30s}));
  EXPECT_EQ(answers_within(true, 2), same) << "one that hangs must not hold up the search";
  EXPECT_EQ(answers_within(false, 1), same);
}

// By what the agent knows the cluster's authority. Without that it must believe nobody else.
class KnownBy : public testing::Test {
 protected:
  KnownBy() {
    std::string name = std::filesystem::temp_directory_path() / "dove-known-XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr, "a temporary directory can be made");
    directory_ = name;
  }
  ~KnownBy() override { std::filesystem::remove_all(directory_); }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name) << text;
  }
  // As a node that joined has them; `digest`: "" where the system's authorities are believed.
  void join(const std::string& digest) const {
    put("ca.pem", authority_.credentials().chain_pem);
    put("authority_digest", digest);
  }
  // What it believes, or the code of its refusal.
  std::string open(const std::string& digest_of_token = "", const std::string& ca_file = "") {
    wire::Loop loop;
    Uplink uplink(loop, {"n1", directory_, {{true, "127.0.0.1", 1, ""}}, ca_file, digest_of_token});
    const Result<void> opened = uplink.open();
    if (opened.ok()) return uplink.authority_path();
    EXPECT_NE(opened.error().message.find(directory_), std::string::npos);
    return opened.error().code;
  }
  std::string own() const { return directory_ + "/ca.pem"; }

  const wire::Authority authority_ = wire::Authority::make("test", std::time(nullptr));
  std::string directory_;
};

TEST_F(KnownBy, ANodeOfAFormerVersionGoesOn) {
  join(authority_.digest());
  EXPECT_EQ(open(), own());
  std::filesystem::remove(directory_ + "/known_by");
  join("");
  EXPECT_EQ(open(), "") << "the system's";
}

TEST_F(KnownBy, WhatIsDamagedIsRefusedAndTheSystemsAuthoritiesAreNotBelieved) {
  join(authority_.digest());
  ASSERT_EQ(open(), own());
  put("authority_digest", "");
  EXPECT_EQ(open(), own()) << "the other file says it";
  for (const char* text : {"", "\n", "=0123456789abcdef \n", "0123456789abcdef \n"}) {
    put("known_by", text);
    EXPECT_EQ(open(), "authority_lost") << text;
  }
  EXPECT_EQ(open(authority_.digest()), own()) << "the join token says it";
  put("cluster.pem", authority_.credentials().chain_pem);
  EXPECT_EQ(open("", directory_ + "/cluster.pem"), directory_ + "/cluster.pem");
}

// Otherwise the remedy, taken away again, would have the system's authorities believed.
TEST_F(KnownBy, ANodeThatWasHelpedByAFileOfAuthoritiesStillKnowsWhatIsLost) {
  join(authority_.digest());
  put("known_by", "damaged\n");
  put("cluster.pem", authority_.credentials().chain_pem);
  wire::Loop loop;
  Uplink uplink(loop,
                {"n1", directory_, {{true, "127.0.0.1", 1, ""}}, directory_ + "/cluster.pem", ""});
  ASSERT_TRUE(uplink.open().ok());
  const auto asked = nlohmann::json::parse(*uplink.certificate_request());
  const Result<std::string> certificate =
      authority_.issue(asked.at("request").get<std::string>(),
                       {.uri = kUri, .now_s = std::time(nullptr), .valid_s = kDay_s});
  ASSERT_TRUE(uplink
                  .take({{"certificate", *certificate},
                         {"authority", authority_.credentials().chain_pem},
                         {"agents_port", 1U}})
                  .ok());
  EXPECT_EQ(open(), "authority_lost");
  EXPECT_EQ(open("", directory_ + "/cluster.pem"), directory_ + "/cluster.pem");
}

TEST_F(KnownBy, WithoutAnyDigestTheKeptAuthorityIsOfNoUse) {
  put("ca.pem", authority_.credentials().chain_pem);
  EXPECT_EQ(open(), "authority_lost");
  put("authority_digest", authority_.digest().substr(1));
  EXPECT_EQ(open(), "authority_lost");
}

TEST_F(KnownBy, AnEmptyFileOfAuthoritiesIsNotTheSystems) {
  put("cluster.pem", "");
  EXPECT_EQ(open("", directory_ + "/cluster.pem"), "file_empty");
}

}  // namespace
}  // namespace dove::agent
