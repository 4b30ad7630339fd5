#include "wire/tls/tls.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <future>
#include <optional>
#include <vector>

#include "wire/async_client.h"
#include "wire/client.h"
#include "wire/test_peer.h"
#include "wire/tls/authority.h"
#include "wire/tls/granted_for_test.h"
#include "wire/tls/openssl.h"
#include "wire/tls/tls_stream.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kDay_s = 24 * 3600;

std::int64_t now_s() { return std::time(nullptr); }

template <class T>
T good(Result<T> result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return std::move(result).value();
}

const Authority& authority() {
  static const Authority one = Authority::make("test", now_s());
  return one;
}

TlsServerOptions server_options(Grant grant = {.names = {"127.0.0.1", "head"}}) {
  return {.own = granted(authority(), std::move(grant))};
}

TlsClientOptions client_options() {
  return {.authorities_pem = authority().credentials().chain_pem};
}

void echo(const Request& request, const std::shared_ptr<Responder>& responder) {
  responder->send({200, {{"X-Peer", request.peer_identity}}, request.body});
}

// One server with `offers`, one AsyncClient that `wants`; what a call gave.
Result<Response> call(const TlsServerOptions& offers, const TlsClientOptions& wants,
                      const std::string& body = "hello") {
  TestServer at(echo, {}, good(Tls::for_server(offers)));
  Loop loop;
  AsyncClient client(loop, Address{"127.0.0.1", at.port, good(Tls::for_client(wants))});
  Request request;
  request.method = "POST";
  request.target = "/";
  request.body = body;
  std::optional<Result<Response>> answer;
  client.call(std::move(request), [&](Result<Response> got) { answer = std::move(got); });
  EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, 20s));
  return *answer;
}

std::string code_of(const Result<Response>& answer) {
  return answer.ok() ? "answered" : answer.error().code;
}

class CaFile {
 public:
  explicit CaFile(const std::string& pem)
      : path_(testing::TempDir() + "dove-ca-" + std::to_string(getpid()) + ".pem") {
    std::ofstream(path_) << pem;
  }
  ~CaFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Authority, vouches_for_what_it_grants) {
  const Credentials own = granted(
      authority(), {.uri = "dove://c/node/n1", .names = {"n1,DNS:evil", "10.0.0.7", "::1"}});
  const CertificateFacts facts = good(read_certificate(own.chain_pem));
  EXPECT_EQ(facts.uri, "dove://c/node/n1");
  EXPECT_EQ(facts.names, (std::vector<std::string>{"n1,DNS:evil", "10.0.0.7", "::1"}));
  EXPECT_FALSE(facts.is_authority);
  EXPECT_NEAR(static_cast<double>(facts.not_after_s), static_cast<double>(now_s() + kDay_s), 5);
  EXPECT_LE(facts.not_before_s, now_s() - 299);
  EXPECT_TRUE(belong_together(own).ok());
}

TEST(Authority, opens_again_with_the_same_digest) {
  const Authority again = good(Authority::open(authority().credentials()));
  EXPECT_EQ(again.digest(), authority().digest());
  EXPECT_EQ(again.digest().size(), 64u);
}

TEST(Authority, refuses_what_it_cannot_sign) {
  EXPECT_EQ(authority().issue("nothing", {}).error().code, "bad_request");
  std::string request = good(certificate_request(make_private_key()));
  // A request whose signature is not by its key: one digit of the signature's end is another.
  const std::size_t at = request.rfind("\n-----END") - 6;
  request[at] = request[at] == 'A' ? 'B' : 'A';
  EXPECT_EQ(authority().issue(request, {}).error().code, "bad_request");
}

TEST(Authority, is_no_leaf_and_needs_its_own_key) {
  const Credentials leaf = granted(authority(), {.names = {"a"}});
  EXPECT_EQ(Authority::open(leaf).error().code, "not_an_authority");
  EXPECT_EQ(Authority::open({leaf.chain_pem, make_private_key()}).error().code, "wrong_key");
  EXPECT_EQ(Authority::open({"", leaf.key_pem}).error().code, "bad_certificate");
  EXPECT_EQ(Authority::open({leaf.chain_pem, "?"}).error().code, "bad_key");
}

// An authority's certificate that names no key of its issuer.
CertificatePtr signed_by(const char* subject, EVP_PKEY* own, const char* issuer, EVP_PKEY* by) {
  CertificatePtr made(X509_new());
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 7);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
  const auto name = [](X509_NAME* to, const char* text) {
    X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(text), -1, -1, 0);
  };
  name(X509_get_subject_name(made.get()), subject);
  name(X509_get_issuer_name(made.get()), issuer);
  X509_set_pubkey(made.get(), own);
  X509_EXTENSION* authority =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
  X509_add_ext(made.get(), authority, -1);
  X509_EXTENSION_free(authority);
  X509_sign(made.get(), by, EVP_sha256());
  return made;
}

std::string pem(X509* certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate);
  return text_of(out.get());
}

TEST(Authority, of_a_site_need_not_name_the_key_of_its_issuer) {
  const std::string key_pem = make_private_key();
  const KeyPtr own = good(key_of(key_pem));
  const KeyPtr root = good(key_of(make_private_key()));
  const auto code = [&](const std::string& chain) {
    const auto opened = Authority::open({chain, key_pem});
    return opened.ok() ? "" : opened.error().code;
  };
  const std::string between = pem(signed_by("dove", own.get(), "the site", root.get()).get());
  EXPECT_EQ(code(between), "");
  // Where its issuer is in the file its signature is verified.
  EXPECT_EQ(code(between + pem(signed_by("the site", root.get(), "the site", root.get()).get())),
            "");
  EXPECT_EQ(code(between + pem(signed_by("the site", own.get(), "the site", own.get()).get())),
            "bad_certificate");
  // Its own, of which a letter was changed.
  EXPECT_EQ(code(pem(signed_by("dove", own.get(), "dave", root.get()).get())), "bad_certificate");
  EXPECT_EQ(code(pem(signed_by("dove", own.get(), "dove", root.get()).get())), "bad_certificate");
}

TEST(Tls, carries_requests_and_answers) {
  const Result<Response> answer = call(server_options(), client_options());
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "hello");
  EXPECT_EQ(answer->header("x-peer"), "");
}

TEST(Tls, carries_megabytes_both_ways) {
  std::string body(7'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 131 >> 3);
  const Result<Response> answer = call(server_options(), client_options(), body);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_TRUE(answer->body == body);
}

TEST(Tls, tells_the_handler_whose_certificate_it_was) {
  TlsServerOptions offers = server_options();
  offers.client_authorities_pem = authority().credentials().chain_pem;
  TlsClientOptions wants = client_options();
  wants.own = granted(authority(), {.uri = "dove://c/node/n1"});
  const Result<Response> answer = call(offers, wants);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->header("x-peer"), "dove://c/node/n1");
}

TEST(Tls, lets_no_client_in_without_a_certificate_of_its_authority) {
  TlsServerOptions offers = server_options();
  offers.client_authorities_pem = authority().credentials().chain_pem;
  EXPECT_NE(code_of(call(offers, client_options())), "answered");
  TlsClientOptions foreign = client_options();
  foreign.own = granted(Authority::make("other", now_s()), {.uri = "dove://c/node/n1"});
  EXPECT_NE(code_of(call(offers, foreign)), "answered");
  TlsClientOptions ended = client_options();
  ended.own = granted(authority(), {.uri = "dove://c/node/n1", .now_s = now_s() - 9, .valid_s = 8});
  EXPECT_EQ(code_of(call(offers, ended)), "connection_broken") << "not as one who was cut off";
}

TEST(Tls, refuses_a_client_that_may_not_come_in_any_more) {
  TlsServerOptions offers = server_options();
  offers.client_authorities_pem = authority().credentials().chain_pem;
  const auto tls = good(Tls::for_server(offers));
  tls->let_in([](const std::string& uri) { return uri != "dove://c/node/n1"; });
  int asked = 0;
  const auto count = [&](const Request& request, const std::shared_ptr<Responder>& responder) {
    ++asked;
    echo(request, responder);
  };
  const auto call_as = [&](const std::string& uri) {
    TestServer at(count, {}, tls);
    TlsClientOptions wants = client_options();
    wants.own = granted(authority(), {.uri = uri});
    Loop loop;
    AsyncClient client(loop, Address{"127.0.0.1", at.port, good(Tls::for_client(wants))});
    std::optional<Result<Response>> answer;
    Request request;
    request.method = "GET";
    request.target = "/";
    client.call(std::move(request), [&](Result<Response> got) { answer = std::move(got); });
    EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, 20s));
    EXPECT_TRUE(answer->ok() || answer->error().kind == ErrorKind::kDenied);
    return code_of(*answer);
  };
  EXPECT_EQ(call_as("dove://c/node/n1"), "certificate_refused");
  EXPECT_EQ(call_as("dove://c/node/n2"), "answered");
  EXPECT_EQ(asked, 1) << "it ended in the handshake";
}

// As when a node is expelled: what is open of it ends, and nobody else's.
TEST(Tls, drops_the_connections_of_one_peer) {
  TlsServerOptions offers = server_options();
  offers.client_authorities_pem = authority().credentials().chain_pem;
  std::vector<std::shared_ptr<Outflow>> streams;
  const auto begins = [&](const Request&, const std::shared_ptr<Responder>& responder) {
    streams.push_back(responder->stream(200, {}));
    streams.back()->write("hello\n");
  };
  TestServer at(begins, {}, good(Tls::for_server(offers)));
  Loop loop;
  struct Caller {
    std::unique_ptr<AsyncClient> client;
    std::unique_ptr<InStream> stream;
    bool heard = false;
    bool closed = false;
  };
  Caller callers[2];
  const auto open = [&](Caller& caller, const char* uri) {
    TlsClientOptions wants = client_options();
    wants.own = granted(authority(), {.uri = uri});
    caller.client = std::make_unique<AsyncClient>(
        loop, Address{"127.0.0.1", at.port, good(Tls::for_client(wants))});
    Request request;
    request.method = "GET";
    request.target = "/";
    StreamCallbacks callbacks;
    callbacks.on_line = [&caller](std::string_view) { caller.heard = true; };
    callbacks.on_closed = [&caller](const Error&) { caller.closed = true; };
    caller.stream = caller.client->open_stream(std::move(request), std::move(callbacks));
  };
  open(callers[0], "dove://c/node/n1");
  open(callers[1], "dove://c/node/n2");
  ASSERT_TRUE(loop.run_until([&] { return callers[0].heard && callers[1].heard; }, 20s));
  at.loop.post([&] { at.server.drop("dove://c/node/n1"); });
  EXPECT_TRUE(loop.run_until([&] { return callers[0].closed; }, 20s));
  EXPECT_FALSE(callers[1].closed);
}

TEST(Tls, trusts_an_authority_by_its_digest) {
  EXPECT_EQ(code_of(call(server_options(), {.authority_digest = authority().digest()})),
            "answered");
  EXPECT_EQ(code_of(call(server_options(), {.authority_digest = std::string(64, '0')})),
            "certificate_untrusted");
}

TEST(Tls, names_what_is_wrong_with_a_server) {
  const Authority other = Authority::make("other", now_s());
  EXPECT_EQ(code_of(call({.own = granted(other, {.names = {"127.0.0.1"}})}, client_options())),
            "certificate_untrusted");
  const Result<Response> named = call(server_options({.names = {"head"}}), client_options());
  EXPECT_EQ(code_of(named), "certificate_wrong_name");
  EXPECT_NE(named.error().message.find("is for head, not for 127.0.0.1"), std::string::npos)
      << named.error().message;
  EXPECT_EQ(
      code_of(call(server_options(
                       {.names = {"127.0.0.1"}, .now_s = now_s() - kDay_s, .valid_s = kDay_s - 9}),
                   client_options())),
      "certificate_expired");
  EXPECT_EQ(code_of(call(server_options({.names = {"127.0.0.1"}, .now_s = now_s() + kDay_s}),
                         client_options())),
            "certificate_not_yet_valid");
}

TEST(Tls, judges_by_the_time_that_it_is_given) {
  const auto in_days = [](std::int64_t days) { return [days] { return now_s() + days * kDay_s; }; };
  const std::int64_t then_s = now_s() + 10 * kDay_s;
  const std::string& trusted = authority().credentials().chain_pem;
  TlsServerOptions offers = server_options({.names = {"127.0.0.1"}, .now_s = then_s});
  offers.client_authorities_pem = trusted;
  TlsClientOptions wants = client_options();
  wants.own = granted(authority(), {.uri = "dove://c/node/n1", .now_s = then_s});
  offers.time.now_s = wants.time.now_s = in_days(10);
  EXPECT_EQ(code_of(call(offers, wants)), "answered");
  offers.time.now_s = in_days(12);
  EXPECT_NE(code_of(call(offers, wants)), "answered") << "the client's has ended by the server";
  offers.time.now_s = in_days(10);
  wants.time.now_s = in_days(12);
  const Result<Response> ended = call(offers, wants);
  EXPECT_EQ(code_of(ended), "certificate_expired");
}

TEST(Tls, may_take_a_certificate_that_begins_later) {
  TlsClientOptions wants = client_options();
  wants.time.may_begin_later = true;
  const auto given = [&](const Authority& by, std::int64_t begins_s, std::int64_t valid_s) {
    return code_of(
        call({.own = granted(by, {.names = {"127.0.0.1"}, .now_s = begins_s, .valid_s = valid_s})},
             wants));
  };
  EXPECT_EQ(given(authority(), now_s() + kDay_s, kDay_s), "answered");
  EXPECT_EQ(given(authority(), now_s() - kDay_s, kDay_s - 9), "certificate_expired");
  const Authority other = Authority::make("other", now_s() + kDay_s);
  EXPECT_EQ(given(other, now_s() + kDay_s, kDay_s), "certificate_untrusted");
  wants = {.authority_digest = other.digest(), .time = {.may_begin_later = true}};
  EXPECT_EQ(given(other, now_s() + kDay_s, kDay_s), "answered");
  EXPECT_EQ(given(authority(), now_s() + kDay_s, kDay_s), "certificate_untrusted");
}

TEST(Tls, takes_a_uri_in_place_of_a_name) {
  const TlsServerOptions offers = server_options({.uri = "dove://c/node/n2"});
  TlsClientOptions wants = client_options();
  wants.server_uri = "dove://c/node/n2";
  EXPECT_EQ(code_of(call(offers, wants)), "answered");
  wants.server_uri = "dove://c/node/n3";
  EXPECT_EQ(code_of(call(offers, wants)), "certificate_wrong_name");
}

TEST(Tls, tells_a_plain_client_to_speak_tls) {
  TestServer at(echo, {}, good(Tls::for_server(server_options())));
  RawPeer peer(at.port);
  peer.send("GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = peer.read_all();
  EXPECT_FALSE(peer.timed_out);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_NE(answer.find("\"code\":\"speak_tls\""), std::string::npos) << answer;
}

TEST(Tls, tells_a_client_that_the_server_is_plain) {
  TestServer at(echo);
  Loop loop;
  AsyncClient client(loop, Address{"127.0.0.1", at.port, good(Tls::for_client(client_options()))});
  Request request;
  request.method = "GET";
  request.target = "/";
  std::optional<Result<Response>> answer;
  client.call(std::move(request), [&](Result<Response> got) { answer = std::move(got); });
  ASSERT_TRUE(loop.run_until([&] { return answer.has_value(); }, 20s));
  EXPECT_EQ(code_of(*answer), "not_tls");
}

TEST(Tls, ends_a_handshake_that_goes_nowhere) {
  ServerLimits limits;
  limits.header_timeout = 50ms;
  TestServer at(echo, limits, good(Tls::for_server(server_options())));
  RawPeer peer(at.port);
  EXPECT_EQ(peer.read_all(), "");
  EXPECT_FALSE(peer.timed_out);
}

// A peer that has said something, and may have gone since.
class SaidSomething final : public Stream {
 public:
  explicit SaidSomething(Loop& loop, bool is_gone) : loop_(loop), is_gone_(is_gone) {}
  void read_some(char* data, std::size_t size, Done done) override {
    const std::size_t bytes = std::min(size, kSaid.size());
    std::copy_n(kSaid.data(), bytes, data);
    loop_.post([done = std::move(done), bytes] { done(0, bytes); });
  }
  void write_some(std::string_view data, Done done) override {
    loop_.post([done = std::move(done), bytes = data.size()] { done(0, bytes); });
  }
  void end_writing() override {}
  void close() override {}
  bool peer_ended() override { return is_gone_; }
  std::string peer_address() const override { return "127.0.0.1:1"; }

 private:
  static constexpr std::string_view kSaid = "\x16 which is no hello";
  Loop& loop_;
  const bool is_gone_;
};

TEST(Tls, a_hello_whose_sender_has_gone_costs_no_handshake) {
  const auto tls = good(Tls::for_server(server_options()));
  for (const bool is_gone : {false, true}) {
    Loop loop;
    std::string code;
    const Handshake shaking =
        accept_tls(loop, std::make_unique<SaidSomething>(loop, is_gone), tls, 20s,
                   [&](Result<std::unique_ptr<Stream>> stream) { code = stream.error().code; });
    ASSERT_TRUE(loop.run_until([&] { return !code.empty(); }, 20s));
    EXPECT_EQ(code, is_gone ? "connection_broken" : "not_tls");
  }
}

// Whoever connects and says nothing keeps nobody out.
TEST(Tls, the_oldest_silent_handshake_makes_room_for_a_newcomer) {
  ServerLimits limits;
  limits.handshakes_max = 2;
  limits.hello_time = 0us;
  TestServer at(echo, limits, good(Tls::for_server(server_options())));
  RawPeer first(at.port);
  RawPeer second(at.port);
  const CaFile ca(authority().credentials().chain_pem);
  Client newcomer("https://127.0.0.1:" + std::to_string(at.port), {.ca_file = ca.path()});
  EXPECT_EQ(code_of(newcomer.call("GET", "/")), "answered");
  EXPECT_EQ(first.read_all(), "");
  EXPECT_FALSE(first.timed_out);
}

TEST(Tls, a_handshake_that_is_young_keeps_its_place) {
  ServerLimits limits;
  limits.handshakes_max = 1;
  limits.hello_time = 1h;
  TestServer at(echo, limits, good(Tls::for_server(server_options())));
  RawPeer first(at.port);
  RawPeer newcomer(at.port);
  EXPECT_EQ(newcomer.read_all(), "");
  EXPECT_FALSE(newcomer.timed_out);
}

TEST(Tls, shows_a_renewed_certificate_to_new_connections) {
  const auto tls = good(Tls::for_server(server_options({.names = {"head"}})));
  TestServer at(echo, {}, tls);
  const CaFile ca(authority().credentials().chain_pem);
  Client before("https://127.0.0.1:" + std::to_string(at.port), {.ca_file = ca.path()});
  EXPECT_EQ(code_of(before.call("GET", "/")), "certificate_wrong_name");
  std::promise<void> done;
  at.loop.post([&] {
    EXPECT_TRUE(tls->show(granted(authority(), {.names = {"127.0.0.1"}})).ok());
    done.set_value();
  });
  done.get_future().get();
  EXPECT_EQ(code_of(before.call("GET", "/")), "answered");
}

TEST(Tls, serves_libcurl_and_its_messages_name_the_remedy) {
  TestServer at(echo, {}, good(Tls::for_server(server_options())));
  const std::string url = "https://127.0.0.1:" + std::to_string(at.port);
  const CaFile ca(authority().credentials().chain_pem);
  Client client(url, {.ca_file = ca.path()});
  for (int i = 0; i < 3; ++i) {
    const Result<Response> answer = client.call("POST", "/", std::string(300'000, 'x'));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->body.size(), 300'000u);
  }
  Client stranger(url, {});
  const Result<Response> refused = stranger.call("GET", "/");
  EXPECT_EQ(code_of(refused), "certificate_untrusted");
  EXPECT_NE(refused.error().message.find("DOVE_CA_FILE"), std::string::npos);
  EXPECT_EQ(code_of(Client(url, {.ca_file = "/nowhere"}).call("GET", "/")), "bad_ca_file");
}

}  // namespace
}  // namespace dove::wire
