#include "wire/cluster/cluster_client.h"

#include <gtest/gtest.h>

#include <optional>

#include "wire/test_peer.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

constexpr char kNotLeader[] = R"({"code":"not_leader"})";

std::string url_of(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }

TEST(Controllers, urls_are_read_with_what_is_wrong_with_them) {
  const auto read = [](const std::string& text) { return Controllers::read(text, ""); };
  const auto both = read("http://a:1/x/,https://b");
  ASSERT_TRUE(both.ok()) << both.error().message;
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[0].url, "http://a:1/x");
  EXPECT_EQ((*both)[0].prefix, "/x");
  EXPECT_EQ((*both)[0].address.tls, nullptr);
  EXPECT_EQ((*both)[1].address.port, 443);
  EXPECT_NE((*both)[1].address.tls, nullptr);
  for (const char* wrong : {"", "a:1", "http://a:1,,http://b:1", "http://a:1,b:1"}) {
    const auto none = read(wrong);
    ASSERT_FALSE(none.ok()) << wrong;
    EXPECT_EQ(none.error().code, "bad_url");
  }
  std::string many = "http://a";
  for (int i = 0; i < 16; ++i) many += ",http://a";
  EXPECT_EQ(read(many).error().code, "bad_url");
}

TEST(Controllers, one_that_was_silent_is_left_out_for_a_while) {
  Controllers all = *Controllers::read("http://a,http://b,http://c", "");
  all.pass(0, Gave::kNothing, 0);
  EXPECT_EQ(all.at(), 1u);
  all.pass(0, Gave::kNothing, 0);  // somebody else has found that, too
  EXPECT_EQ(all.at(), 1u);
  all.pass(1, Gave::kRefusal, 0);
  EXPECT_EQ(all.at(), 2u);
  all.pass(2, Gave::kRefusal, 0);
  EXPECT_EQ(all.at(), 1u);
  all.pass(1, Gave::kRefusal, 60'000'000);
  all.pass(2, Gave::kRefusal, 60'000'000);
  EXPECT_EQ(all.at(), 0u);
  for (const std::size_t place : {0u, 1u, 2u}) all.pass(place, Gave::kNothing, 60'000'000);
  EXPECT_EQ(all.at(), 0u) << "all are silent, and one is asked nevertheless";
  all.pass(0, Gave::kNothingInTime, 120'000'000);
  all.pass(1, Gave::kRefusal, 121'000'000);
  all.pass(2, Gave::kRefusal, 121'000'000);
  EXPECT_EQ(all.at(), 1u) << "one that was late is left out, too";
  all.pass(1, Gave::kRefusal, 123'000'000);
  all.pass(2, Gave::kRefusal, 123'000'000);
  EXPECT_EQ(all.at(), 0u) << "for less time";
}

// All on one loop, one thread.
class ClusterClientTest : public testing::Test {
 protected:
  Server& serve(Handler handler) {
    servers.push_back(std::make_unique<Server>(loop, ServerLimits(), std::move(handler)));
    EXPECT_TRUE(servers.back()->listen("127.0.0.1", 0).ok());
    urls += (urls.empty() ? "" : ",") + url_of(servers.back()->port());
    return *servers.back();
  }
  Server& stand_by() {
    return serve([this](const Request&, const std::shared_ptr<Responder>& responder) {
      ++refused;
      responder->send({503, {}, kNotLeader});
    });
  }
  ControllersPtr controllers() const {
    return std::make_shared<Controllers>(*Controllers::read(urls, ""));
  }
  Result<Response> ask(ClusterClient& client, const char* method,
                       std::chrono::microseconds timeout = 10s) {
    Request request;
    request.method = method;
    request.target = "/v1/x";
    request.body = "?";
    std::optional<Result<Response>> answer;
    client.call(
        std::move(request), [&](Result<Response> got) { answer.emplace(std::move(got)); }, timeout);
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return std::move(*answer);
  }
  bool until(const std::function<bool()>& done) { return loop.run_until(done, 10s); }

  Loop loop;
  std::vector<std::unique_ptr<Server>> servers;
  std::string urls;
  int refused = 0;
};

void answer(const Request& request, const std::shared_ptr<Responder>& responder) {
  responder->send({200, {}, request.target + request.body});
}

TEST_F(ClusterClientTest, whoever_leads_is_found_once) {
  serve(answer);
  servers.clear();  // nobody listens there
  stand_by();
  serve(answer);
  urls += "/prefix";
  const ControllersPtr all = controllers();
  ClusterClient first(loop, all);
  ClusterClient second(loop, all);
  for (ClusterClient* client : {&first, &second, &first}) {
    const auto got = ask(*client, "POST");
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->body, "/prefix/v1/x?");
  }
  EXPECT_EQ(refused, 1);
}

TEST_F(ClusterClientTest, a_machine_that_is_gone_is_passed) {
  const SilentPort gone;
  urls = url_of(gone.port);
  serve(answer);
  AsyncClientOptions options;
  options.connect_timeout = 100ms;
  ClusterClient client(loop, controllers(), options);
  const auto got = ask(client, "POST");
  ASSERT_TRUE(got.ok()) << got.error().message;
}

TEST_F(ClusterClientTest, one_that_stands_still_holds_up_once_and_not_in_each_round) {
  std::vector<std::shared_ptr<Responder>> held;
  serve([&](const Request&, const std::shared_ptr<Responder>& responder) {
    held.push_back(responder);
  });
  int asked = 0;
  serve([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (++asked < 3) return responder->send({503, {}, kNotLeader});
    answer(request, responder);
  });
  ClusterClient client(loop, controllers());
  EXPECT_EQ(ask(client, "GET", 2s)->status, 200);
  EXPECT_EQ(held.size(), 1u);
}

TEST_F(ClusterClientTest, it_waits_while_nobody_leads_as_long_as_the_call_may) {
  int asked = 0;
  stand_by();
  serve([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (++asked < 3) return responder->send({503, {}, R"({"code":"lease_over"})"});
    answer(request, responder);
  });
  ClusterClient client(loop, controllers());
  EXPECT_EQ(ask(client, "POST")->status, 200);
  EXPECT_EQ(refused, 3);
  asked = -1000;
  const auto late = ask(client, "POST", 300ms);
  EXPECT_TRUE(!late.ok() || late->status == 503);
}

TEST_F(ClusterClientTest, what_may_have_happened_is_not_asked_for_again) {
  int asked = 0;
  std::vector<std::shared_ptr<Responder>> held;
  serve([&](const Request&, const std::shared_ptr<Responder>& responder) {
    ++asked;
    held.push_back(responder);
  });
  serve(answer);
  ClusterClient client(loop, controllers());
  const auto late = ask(client, "POST", 100ms);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, "timeout");
  EXPECT_EQ(ask(client, "POST")->status, 200) << "the next call is for another one";
  EXPECT_EQ(asked, 1);
  ClusterClient reads(loop, controllers());
  EXPECT_EQ(ask(reads, "GET", 400ms)->status, 200);
  EXPECT_EQ(asked, 2);
}

TEST_F(ClusterClientTest, one_alone_is_asked_once) {
  stand_by();
  ClusterClient client(loop, controllers());
  EXPECT_EQ(ask(client, "GET")->status, 503);
  EXPECT_EQ(refused, 1);
}

class LeaderSocketTest : public ClusterClientTest {
 protected:
  std::unique_ptr<WebSocket> connect(const ControllersPtr& all) {
    Request request;
    request.target = "/v1/socket";
    WebSocketCallbacks callbacks;
    callbacks.on_text = [this](std::string_view text) { heard += text; };
    callbacks.on_closed = [this](Error error) { end = std::move(error); };
    auto socket = connect_to_leader(loop, all, std::move(request), std::move(callbacks));
    socket->send_text("early");
    return socket;
  }
  // Says what it hears, with its target, but for the first `not_yet`.
  void lead(int not_yet) {
    serve([this, left = not_yet](const Request& request,
                                 const std::shared_ptr<Responder>& responder) mutable {
      if (left-- > 0) return responder->send({503, {}, kNotLeader});
      WebSocketCallbacks callbacks;
      callbacks.on_text = [this, target = request.target](std::string_view text) {
        accepted->send_text(target + " " + std::string(text));
      };
      auto made = accept_web_socket(loop, request, *responder, std::move(callbacks));
      ASSERT_TRUE(made.ok());
      accepted = std::move(*made);
    });
  }

  std::unique_ptr<WebSocket> accepted;
  std::string heard;
  std::optional<Error> end;
};

TEST_F(LeaderSocketTest, a_web_socket_goes_to_whoever_leads_with_all_that_was_said) {
  serve(answer);
  servers.clear();
  stand_by();
  lead(/*not_yet=*/2);
  const ControllersPtr all = controllers();
  const auto socket = connect(all);
  ASSERT_TRUE(until([&] { return !heard.empty() || end.has_value(); }));
  EXPECT_EQ(heard, "/v1/socket early") << (end ? end->message : "");
  EXPECT_EQ(all->at(), 2u);
  accepted.reset();
  ASSERT_TRUE(until([&] { return end.has_value(); })) << "once it was open its end is told";
}

TEST_F(LeaderSocketTest, another_refusal_is_told) {
  serve([](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->send({403, {}, "no"});
  });
  stand_by();
  const auto socket = connect(controllers());
  ASSERT_TRUE(until([&] { return end.has_value(); }));
  EXPECT_EQ(end->code, "http_403");
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace dove::wire
