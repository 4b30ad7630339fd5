// The agent over TLS: its connections, and what it takes it for that its certificate is taken no
// more.
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "agent/session/session_test_bed.h"
#include "wire/tls/authority.h"
#include "wire/tls/granted_for_test.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kDay_s = 24 * 3600;

class CutOff : public SessionTestBed {
 protected:
  CutOff()
      : people_(loop_, wire::ServerLimits(),
                [this](const wire::Request& request,
                       const std::shared_ptr<wire::Responder>& responder) {
                  certify(request, responder);
                }) {
    wire::TlsServerOptions offers;
    offers.own = wire::granted(authority_, {.names = {"127.0.0.1"}, .valid_s = 30 * kDay_s});
    EXPECT_TRUE(people_.listen("127.0.0.1", 0, *wire::Tls::for_server(offers)).ok());
    offers.client_authorities_pem = authority_.credentials().chain_pem;
    offers.time.now_s = [this] { return std::time(nullptr) + days_ahead_ * kDay_s; };
    offers_ = offers;
    speak(/*http2=*/true);
    options_.tls = true;
    options_.host = "127.0.0.1";
    options_.port = people_.port();
    options_.authority_digest = authority_.digest();
    std::ofstream(data_ + "/agent_token") << "secret-1";
  }

  // The controller is of this version, or of a former one.
  void speak(bool http2) {
    offers_.http2 = http2;
    const std::shared_ptr<wire::Tls> agents = *wire::Tls::for_server(offers_);
    agents->let_in([this](const std::string&) { return lets_in_; });
    controller_.tls = agents;
    controller_.drop();
  }
  void certify(const wire::Request& request, const std::shared_ptr<wire::Responder>& responder) {
    ++asked_;
    if (people_status_ != 200) return responder->send(wire::Response{people_status_, {}, "{}"});
    const std::string asked = Json::parse(request.body).at("request");
    const wire::Grant grant{
        .uri = "dove://c/node/n1", .now_s = std::time(nullptr), .valid_s = kDay_s};
    const Json answer{{"certificate", authority_.issue(asked, grant).value()},
                      {"authority", authority_.credentials().chain_pem},
                      {"agents_port", controller_.port()}};
    responder->send(wire::Response{200, {}, answer.dump()});
  }
  // It goes away with a farewell, so its nodes wait for the next one for the grace of an outage.
  void say_farewell() {
    controller_.line(R"({"bye":true,"epoch":5})");
    const std::size_t reports = controller_.reports.size();
    ASSERT_TRUE(until([&] { return controller_.reports.size() >= reports + 2; }));
    controller_.drop();
    ASSERT_TRUE(until([this] { return !agent_->connected(); }));
  }
  bool goes_on() {
    const std::size_t renewed = renewals_.size();
    return until([&] { return renewals_.size() > renewed + 12; });  // three fences
  }

  const wire::Authority authority_ = wire::Authority::make("test", std::time(nullptr) - kDay_s);
  bool lets_in_ = true;
  int people_status_ = 200;
  int asked_ = 0;  // for a certificate
  int days_ahead_ = 0;
  wire::TlsServerOptions offers_;
  wire::Server people_;
};

TEST_F(CutOff, ASessionTakesOneConnection) {
  connect_agent();
  const std::size_t reports = controller_.reports.size();
  ASSERT_TRUE(until([&] { return controller_.reports.size() >= reports + 2; }));
  EXPECT_EQ(controller_.connections(), 1U);
  controller_.drop();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  EXPECT_EQ(controller_.connections(), 1U);
}

TEST_F(CutOff, ASessionAtAFormerControllerTakesTwo) {
  speak(/*http2=*/false);
  connect_agent();
  const std::size_t reports = controller_.reports.size();
  ASSERT_TRUE(until([&] { return controller_.reports.size() >= reports + 2; }));
  EXPECT_EQ(controller_.connections(), 2U);
  speak(/*http2=*/true);
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  EXPECT_EQ(controller_.connections(), 1U) << "it was replaced by a newer one";
}

TEST_F(CutOff, SecretsOfAllJobsComeByOneMore) {
  connect_agent();
  for (const std::uint64_t job : {7, 8, 9}) {
    Json order = Json::parse(launch(job, 1, 1, /*barrier=*/false));
    const Json use{{"secret", "hub"}, {"variable", "HUB"}, {"file", ""}};
    order["spec"]["secrets"] = Json::array({use});
    controller_.line(order.dump());
  }
  ASSERT_TRUE(until([&] { return controller_.secrets_asked.size() == 3; })) << "side by side";
  EXPECT_EQ(controller_.connections(), 2U);
}

// A closed stream is a break, and a connection that hangs answers nothing.
TEST_F(CutOff, AfterSilenceItCallsByAnotherConnection) {
  options_.stream_silence_us = 100'000;
  connect_agent();
  controller_.holds_sync = true;
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 2; }));
  EXPECT_FALSE(agent_->connected());
  EXPECT_EQ(controller_.connections(), 2U);
  EXPECT_EQ(controller_.streams_closed, 0);
  controller_.release_sync();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  EXPECT_TRUE(until([&] { return controller_.connections() == 1; }));
}

// The controller may have opened it: that would be a break there, and silence here.
TEST_F(CutOff, AStreamThatIsNotOpenInTimeIsNotClosed) {
  options_.stream_open_us = 100'000;
  controller_.holds_orders = true;
  connect_agent();
  controller_.holds_sync = true;
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 2; }));
  EXPECT_FALSE(agent_->connected());
  controller_.release_orders();
  const std::size_t renewed = renewals_.size();
  EXPECT_TRUE(until([&] { return renewals_.size() > renewed + 2; })) << "it may count on the grace";
  EXPECT_EQ(controller_.streams_closed, 0);
  controller_.release_sync();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  EXPECT_TRUE(until([&] { return controller_.connections() == 1; }));
}

TEST_F(CutOff, LetsItsTasksEndAtTheFirstRefusal) {
  connect_agent();
  lets_in_ = false;
  people_status_ = 403;
  say_farewell();
  ASSERT_TRUE(until([this] { return agent_->refused().has_value(); }));
  EXPECT_EQ(agent_->refused()->code, "certificate_refused");
  ASSERT_TRUE(until([this] { return agent_->refused()->code == "not_certified"; })) << "why";
  const std::size_t renewed = renewals_.size();
  loop_.run_until([] { return false; }, std::chrono::milliseconds(300));
  EXPECT_EQ(renewals_.size(), renewed);
}

TEST_F(CutOff, AsksForACertificateWhereItDoesNotGetThroughAndNotWhereItIsAnswered) {
  connect_agent();
  EXPECT_EQ(asked_, 1);
  controller_.sync_status = 503;
  controller_.unavailable = "busy";
  controller_.drop();
  ASSERT_TRUE(until([this] { return controller_.syncs.size() >= 6; }));
  EXPECT_EQ(asked_, 1);
  controller_.kill();
  EXPECT_TRUE(until([this] { return asked_ == 2; })) << "it may listen elsewhere";
}

// As by a controller whose clock is wrong.
TEST_F(CutOff, ACertificateThatHasEndedIsNoProof) {
  connect_agent();
  days_ahead_ = 2;
  people_status_ = 503;
  say_farewell();
  EXPECT_TRUE(goes_on());
  EXPECT_FALSE(agent_->refused().has_value());
}

}  // namespace
}  // namespace dove::agent
