// For tests: a server of HTTP/2 over TLS and its clients, on one loop.
#pragma once

#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "wire/async_client.h"
#include "wire/outgoing.h"
#include "wire/server.h"
#include "wire/tls/authority.h"
#include "wire/tls/granted_for_test.h"
#include "wire/tls/psk.h"
#include "wire/tls/tls.h"

namespace dove::wire {

inline constexpr char kNodeUri[] = "dove://c/node/n1";

class Http2Bed : public testing::Test {
 protected:
  Http2Bed() {
    TlsServerOptions offers{.own = granted(authority_, {.names = {"127.0.0.1"}}),
                            .client_authorities_pem = authority_.credentials().chain_pem};
    offers.http2 = true;
    server_tls_ = Tls::for_server(offers).value();
    server_tls_->take_psks_of({PskIssuer(authority_)});
    former_tls_ = Tls::for_server({.own = offers.own}).value();
    client_tls_ = Tls::for_client({.authorities_pem = authority_.credentials().chain_pem,
                                   .own = granted(authority_, {.uri = kNodeUri})})
                      .value();
  }

  void serve(Handler handler, ServerLimits limits = {}, bool is_former = false) {
    server_.emplace(loop_, std::move(limits), std::move(handler));
    ASSERT_TRUE(server_->listen("127.0.0.1", port_, is_former ? former_tls_ : server_tls_).ok());
    port_ = server_->port();
  }
  Address address() const { return {"127.0.0.1", port_, client_tls_}; }
  std::unique_ptr<AsyncClient> client(AsyncClientOptions options = {}) {
    options.http2 = true;
    return std::make_unique<AsyncClient>(loop_, address(), options);
  }
  bool until(const std::function<bool()>& done) {
    return loop_.run_until(done, std::chrono::seconds(20));
  }
  // What one call gives.
  Result<Response> call(AsyncClient& by, Request request) {
    std::optional<Result<Response>> answer;
    by.call(std::move(request), [&](Result<Response> got) { answer = std::move(got); });
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return *answer;
  }
  static Request get(std::string target) {
    Request request;
    request.method = "GET";
    request.target = std::move(target);
    return request;
  }
  static Request post(std::string target, std::string body) {
    Request request = get(std::move(target));
    request.method = "POST";
    request.body = std::move(body);
    return request;
  }
  // A connection that has agreed on HTTP/2, for bytes of one's own.
  std::unique_ptr<Stream> raw() {
    std::unique_ptr<Stream> stream;
    const auto connecting = connect_to(
        loop_, address(), std::chrono::seconds(10),
        [&](Result<std::unique_ptr<Stream>> made) { stream = std::move(made).value(); },
        /*offers_http2=*/true);
    EXPECT_TRUE(until([&] { return stream != nullptr; }));
    EXPECT_TRUE(stream->speaks_http2());
    return stream;
  }
  // Whether the server ends it, when that was sent.
  bool is_dropped_for(Stream& stream, const std::string& bytes) {
    std::size_t sent = 0;
    bool ended = false;
    std::string room(16 * 1024, '\0');
    std::function<void()> write = [&] {
      if (sent == bytes.size()) return;
      stream.write_some(std::string_view(bytes).substr(sent), [&](int error, std::size_t n) {
        sent += n;
        if (error == 0) write();
      });
    };
    std::function<void()> read = [&] {
      stream.read_some(room.data(), room.size(), [&](int error, std::size_t) {
        if (error == 0) return read();
        ended = true;
      });
    };
    write();
    read();
    const bool is_dropped = until([&] { return ended; });
    stream.close();
    loop_.run_until([] { return false; }, std::chrono::milliseconds(1));  // what was pending
    return is_dropped && server_->connections() == 0;
  }

  const Authority authority_ = Authority::make("test", std::time(nullptr));
  std::shared_ptr<Tls> server_tls_;
  std::shared_ptr<Tls> former_tls_;  // of a version that knows HTTP/1.1 alone
  std::shared_ptr<Tls> client_tls_;
  Loop loop_;
  std::uint16_t port_ = 0;
  std::optional<Server> server_;
};

}  // namespace dove::wire
