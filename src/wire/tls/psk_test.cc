#include "wire/tls/psk.h"

#include <gtest/gtest.h>

#include <ctime>
#include <optional>

#include "wire/async_client.h"
#include "wire/test_peer.h"
#include "wire/tls/granted_for_test.h"
#include "wire/tls/sealed_box.h"
#include "wire/tls/tls.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

constexpr char kUri[] = "dove://c/node/n1";

std::int64_t now_s() { return std::time(nullptr); }

// A server that asks each client for a certificate, and a client that may have one.
class PskTest : public testing::Test {
 protected:
  PskTest()
      : server(Tls::for_server({.own = granted(authority, {.names = {"127.0.0.1"}}),
                                .client_authorities_pem = authority.credentials().chain_pem})
                   .value()) {
    server->take_psks_of({PskIssuer(authority)});
    has_certificate(false);
  }

  void has_certificate(bool has) {
    TlsClientOptions options{.authorities_pem = authority.credentials().chain_pem};
    if (has) {
      options.own = granted(authority, {.uri = "dove://c/node/by-certificate"});
    }
    client = Tls::for_client(options).value();
  }

  // Whom the server takes the client for; "": it does not let it in.
  std::string call() {
    const auto echo = [](const Request& request, const std::shared_ptr<Responder>& responder) {
      responder->send({200, {}, request.peer_identity});
    };
    TestServer at(echo, {}, server);
    Loop loop;
    AsyncClient caller(loop, Address{"127.0.0.1", at.port, client});
    std::optional<Result<Response>> answer;
    Request request;
    request.method = "GET";
    request.target = "/";
    caller.call(std::move(request), [&](Result<Response> got) { answer = std::move(got); });
    EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, 20s));
    return answer->ok() ? (*answer)->body : "";
  }

  const Authority authority = Authority::make("test", now_s());
  const PskIssuer issuer{authority};
  std::shared_ptr<Tls> server;
  std::shared_ptr<Tls> client;
};

TEST_F(PskTest, IsEnoughToBeKnown) {
  EXPECT_EQ(call(), "");
  client->show_psk(issuer.issue(kUri, now_s() + 60));
  EXPECT_EQ(call(), kUri);
  EXPECT_EQ(call(), kUri) << "as often as one likes";
}

TEST_F(PskTest, OfAnotherAuthorityIsAsNone) {
  const Authority other = Authority::make("other", now_s());
  client->show_psk(PskIssuer(other).issue(kUri, now_s() + 60));
  EXPECT_EQ(call(), "");
  server->take_psks_of({PskIssuer(authority), PskIssuer(other)});
  EXPECT_EQ(call(), kUri);
  server->take_psks_of({});
  EXPECT_EQ(call(), "");
}

TEST_F(PskTest, WhereItIsNotTakenTheCertificateIsShown) {
  has_certificate(true);
  server->take_psks_of({});
  client->show_psk(issuer.issue(kUri, now_s() + 60));
  EXPECT_EQ(call(), "dove://c/node/by-certificate");
  server->take_psks_of({PskIssuer(authority)});
  EXPECT_EQ(call(), kUri);
}

TEST_F(PskTest, OneThatHasEndedIsNotShown) {
  has_certificate(true);
  client->show_psk(issuer.issue(kUri, now_s() - 1));
  EXPECT_EQ(call(), "dove://c/node/by-certificate");
}

TEST_F(PskTest, EndsByTheTimeThatBothAreGiven) {
  const auto yesterday = [] { return now_s() - 24 * 3600; };
  server = Tls::for_server({.own = granted(authority, {.names = {"127.0.0.1"}, .valid_s = 9}),
                            .client_authorities_pem = authority.credentials().chain_pem,
                            .time = {.now_s = yesterday}})
               .value();
  server->take_psks_of({PskIssuer(authority)});
  client = Tls::for_client(
               {.authorities_pem = authority.credentials().chain_pem, .time = {.now_s = yesterday}})
               .value();
  client->show_psk(issuer.issue(kUri, yesterday() + 60));
  EXPECT_EQ(call(), kUri) << "by this machine's clock it ended a day ago";
  client->show_psk(issuer.issue(kUri, yesterday() - 1));
  EXPECT_EQ(call(), "");
}

TEST_F(PskTest, LetsNobodyInWhoMayNotComeInAnyMore) {
  client->show_psk(issuer.issue(kUri, now_s() + 60));
  EXPECT_EQ(call(), kUri);
  server->let_in([](const std::string& uri) { return uri != kUri; });
  EXPECT_EQ(call(), "");
}

TEST_F(PskTest, WithAWrongKeyItIsShownOnce) {
  has_certificate(true);
  Psk psk = issuer.issue(kUri, now_s() + 60);
  psk.key[0] = static_cast<char>(psk.key[0] ^ 1);
  client->show_psk(psk);
  EXPECT_EQ(call(), "");
  EXPECT_EQ(call(), "dove://c/node/by-certificate");
}

TEST_F(PskTest, IsFoundUntilItEnds) {
  const Psk psk = issuer.issue(kUri, 1000);
  const PskIssuer again(authority);  // of another server
  ASSERT_TRUE(again.find(psk.identity, 999).has_value());
  EXPECT_EQ(again.find(psk.identity, 999)->uri, kUri);
  EXPECT_EQ(again.find(psk.identity, 999)->key, psk.key);
  EXPECT_FALSE(again.find(psk.identity, 1000).has_value());
}

TEST_F(PskTest, WhatWasChangedOrMadeUpIsNotFound) {
  const Psk psk = issuer.issue(kUri, 1000);
  for (std::size_t i = 0; i < psk.identity.size(); i += 3) {
    std::string changed = psk.identity;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(issuer.find(changed, 0).has_value()) << i;
  }
  for (const std::string& made_up : {std::string(), std::string("x"), std::string(5000, 'A')}) {
    EXPECT_FALSE(issuer.find(made_up, 0).has_value());
  }
  EXPECT_EQ(from_base64(psk.identity)->find("node"), std::string::npos)
      << "nobody on the way reads the name";
  EXPECT_NE(issuer.issue(kUri, 1000).key, psk.key);
}

}  // namespace
}  // namespace dove::wire
