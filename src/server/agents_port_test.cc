// The port of agents with TLS: what a refused handshake says, and whose word it is.
#include <gtest/gtest.h>

#include <ctime>
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

}  // namespace
}  // namespace dove::server
