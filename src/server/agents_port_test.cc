// The port of agents with TLS: what a refused handshake says, and whose word it is; who answers at
// a controller that stands by.
#include "server/standing/agents_port.h"

#include <gtest/gtest.h>

#include <ctime>
#include <memory>
#include <optional>

#include "server/api_fixture.h"
#include "wire/tls/authority.h"
#include "wire/tls/granted_for_test.h"
#include "wire/tls/tls.h"

namespace dove::server {
namespace {

// An agent lets its tasks end when its leader takes its certificate no more.
TEST(AgentsPort, WhoeverMayNotAnswerRefusesNoNode) {
  const wire::Authority authority = wire::Authority::make("test", std::time(nullptr) - 1000);
  const std::string believed = authority.credentials().chain_pem;
  wire::TlsServerOptions offers;
  offers.own = wire::granted(authority, {.names = {"127.0.0.1"}});
  offers.client_authorities_pem = believed;
  std::optional<Error> silent;
  LiveOptions options;
  options.tls = ApiTls{nullptr, true, authority.credentials(), *wire::Tls::for_server(offers)};
  options.silence = [&silent] { return silent; };
  store::MemoryStore store;
  LiveApi live(store, policies::standard_policies(), std::move(options));
  wire::TlsClientOptions shows;
  shows.authorities_pem = believed;
  shows.own = wire::granted(authority, {.uri = "dove://another/node/n1"});
  const auto call = [&] {
    wire::AsyncClient client(live.loop, wire::Address{"127.0.0.1", live.api->agents_port(),
                                                      *wire::Tls::for_client(shows)});
    wire::Request request;
    request.method = "POST";
    request.target = "/v1/agents/n1/sync";
    std::optional<Result<wire::Response>> answer;
    client.call(std::move(request), [&](Result<wire::Response> got) { answer = std::move(got); });
    EXPECT_TRUE(live.until([&] { return answer.has_value(); }));
    return answer->ok() ? std::to_string((*answer)->status) : answer->error().code;
  };
  EXPECT_EQ(call(), "certificate_refused");
  silent = Error{ErrorKind::kUnavailable, "lease_over", "another may lead by now", ""};
  EXPECT_EQ(call(), "503");
}

// The place of a leader may be given twice, or be known by name alone.
TEST(AgentsPort, ALeaderSaysWhereItIs) {
  const wire::Authority authority = wire::Authority::make("test", std::time(nullptr) - 1000);
  wire::TlsServerOptions offers;
  offers.own = wire::granted(authority, {.names = {"127.0.0.1"}});
  LiveOptions options;
  options.tls = ApiTls{nullptr, true, authority.credentials(), *wire::Tls::for_server(offers)};
  store::MemoryStore store;
  LiveApi live(store, policies::standard_policies(), std::move(options));
  const Json alive{{"status", "ok"}, {"agents_port", live.api->agents_port()}};
  EXPECT_EQ(live.call("GET", "/healthz").body, alive);
  store::MemoryStore other;
  LiveApi plain(other, policies::standard_policies());
  EXPECT_EQ(plain.call("GET", "/healthz").body, (Json{{"status", "ok"}}));
}

// A controller that stands by has the port before it leads.
class PortOfAStandby : public testing::Test {
 protected:
  PortOfAStandby() { open(0); }

  void open(std::uint16_t at) {
    port_.reset();
    wire::TlsServerOptions offers;
    offers.own = wire::granted(authority_, {.names = {"127.0.0.1"}});
    offers.client_authorities_pem = authority_.credentials().chain_pem;
    offers.http2 = true;
    auto opened = AgentsPort::open(loop_, "127.0.0.1", at, *wire::Tls::for_server(offers),
                                   answering(503, {}));
    CHECK(opened.ok(), "a free port is there");
    port_ = std::move(opened).value();
  }

  AgentsPort::Answers answering(int status,
                                std::function<std::optional<bool>(const std::string&)> may_enter) {
    AgentsPort::Answers made;
    made.admit = [status](const wire::Request&) -> Result<std::size_t> {
      if (status == 200) return 100;
      return Error{ErrorKind::kUnavailable, "not_leader", "nobody leads yet", ""};
    };
    made.handler = [status](const wire::Request&, const std::shared_ptr<wire::Responder>& out) {
      out->send({status, {}, ""});
    };
    if (may_enter == nullptr) return made;
    made.may_enter = [this, may_enter = std::move(may_enter)](const std::string& uri) {
      ++looks_;
      return may_enter(uri);
    };
    return made;
  }
  std::unique_ptr<wire::AsyncClient> node(const std::string& name) {
    wire::TlsClientOptions shows;
    shows.authorities_pem = authority_.credentials().chain_pem;
    shows.own = wire::granted(authority_, {.uri = "dove://c/node/" + name});
    return std::make_unique<wire::AsyncClient>(
        loop_, wire::Address{"127.0.0.1", port_->port(), *wire::Tls::for_client(shows)},
        wire::AsyncClientOptions{.http2 = true});
  }
  // A sync with its body, or a question without one.
  std::string call(wire::AsyncClient& client, const std::string& what = "POST") {
    wire::Request request;
    request.method = what;
    request.target = "/v1/agents/n1/sync";
    if (what == "POST") request.body = R"({"protocol":1})";
    std::optional<Result<wire::Response>> answer;
    client.call(std::move(request), [&](Result<wire::Response> got) { answer = std::move(got); });
    EXPECT_TRUE(loop_.run_until([&] { return answer.has_value(); }, std::chrono::seconds(20)));
    if (!answer) return "no answer";
    return answer->ok() ? std::to_string((*answer)->status) : answer->error().code;
  }

  const wire::Authority authority_ = wire::Authority::make("test", std::time(nullptr) - 1000);
  wire::Loop loop_;
  int looks_ = 0;  // at who may enter
  std::unique_ptr<AgentsPort> port_;
};

TEST_F(PortOfAStandby, ItsConnectionsGoOnWhenItLeads) {
  const auto n1 = node("n1");
  EXPECT_EQ(call(*n1), "503");
  EXPECT_EQ(call(*n1, "GET"), "503");
  port_->answer_by(answering(200, [](const std::string&) { return true; }));
  EXPECT_EQ(looks_, 1) << "at who is there";
  EXPECT_EQ(call(*n1), "200");
  EXPECT_EQ(looks_, 1) << "there was no other handshake";
  EXPECT_EQ(call(*node("n2")), "200");
  EXPECT_GT(looks_, 1);
}

TEST_F(PortOfAStandby, ALeaderThatStandsByAgainHasItOnceMore) {
  const auto n1 = node("n1");
  const std::uint16_t at = port_->port();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call(*n1), "503");
    port_->answer_by(answering(200, [](const std::string&) { return true; }));
    EXPECT_EQ(call(*n1), "200");
    bool is_over = false;
    port_->shutdown(std::chrono::seconds(3), [&] { is_over = true; });
    EXPECT_TRUE(loop_.run_until([&] { return is_over; }, std::chrono::seconds(20)));
    open(at);
  }
}

// A lease that is over for a moment just then.
TEST_F(PortOfAStandby, WhoMayNotEnterIsCutOffOnceThatCanBeSaid) {
  const auto n1 = node("n1");
  const auto n2 = node("n2");
  EXPECT_EQ(call(*n1), "503");
  bool is_silent = true;
  port_->answer_by(answering(200, [&](const std::string& uri) -> std::optional<bool> {
    if (is_silent) return std::nullopt;
    return uri.ends_with("/n3");
  }));
  EXPECT_EQ(call(*n1), "200") << "its connection goes on";
  EXPECT_EQ(call(*n2), "200") << "it has come since";
  is_silent = false;
  const int before = looks_;
  EXPECT_TRUE(loop_.run_until([&] { return looks_ == before + 2; }, std::chrono::seconds(20)));
  EXPECT_EQ(call(*n1), "certificate_refused");
  EXPECT_EQ(call(*n2), "certificate_refused");
  EXPECT_EQ(call(*node("n3")), "200");
}

TEST_F(PortOfAStandby, WhoMayNotEnterTheLeadersPortIsCutOffOnceItLeads) {
  const auto n1 = node("n1");
  const auto n2 = node("n2");
  EXPECT_EQ(call(*n1), "503");
  EXPECT_EQ(call(*n2), "503");
  port_->answer_by(answering(200, [](const std::string& uri) { return uri.ends_with("/n2"); }));
  EXPECT_EQ(call(*n1), "certificate_refused");
  EXPECT_EQ(call(*n2), "200");
  const std::uint16_t was = port_->port();
  port_.reset();
  EXPECT_EQ(call(*n2), "connection_refused") << was;
}

}  // namespace
}  // namespace dove::server
