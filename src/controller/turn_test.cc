#include "controller/turn.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "policies/standard.h"
#include "store/memory/memory_store.h"

namespace dove::controller {
namespace {

constexpr std::int64_t kLease_us = 1'500'000;

// A log that knows one lease, of whoever asks.
class FakeLease : public store::MemoryStore, public store::Lease, public store::Standbys {
 public:
  Result<Epoch> begin_epoch(const std::string& holder) override {
    if (held) return Error{ErrorKind::kConflict, "lease_held", "another leads", ""};
    if (away) return Error{ErrorKind::kUnavailable, "store_unreachable", "it is away", ""};
    has_term = true;
    return MemoryStore::begin_epoch(holder);
  }
  Result<store::LeaderSeen> leader() override {
    return store::LeaderSeen{Epoch{1}, "other", "http://other", 700'000, head().seq};
  }
  Result<bool> renew() override {
    ++renewals;
    if (away) return Error{ErrorKind::kUnavailable, "store_unreachable", "it is away", ""};
    return !taken;
  }
  void release(const std::string& to) override {
    has_term = false;
    released_to.push_back(to);
  }
  bool leads() const override { return has_term; }
  Result<void> stands_by(Seq /*folded*/, const std::string& says) override {
    ++said;
    told = says;
    return {};
  }
  Result<std::vector<store::ControllerSeen>> standbys() override {
    if (hides) return Error{ErrorKind::kUnavailable, "store_unreachable", "it is away", ""};
    return there;
  }

  bool held = false;
  bool away = false;
  bool taken = false;
  bool has_term = false;
  bool hides = false;  // who stands by
  int renewals = 0;
  int said = 0;
  std::string told;
  std::vector<std::string> released_to;
  std::vector<store::ControllerSeen> there;
};

class NoBackend : public backends::Backend {
 public:
  void carry_out(std::vector<backends::Order> /*orders*/) override {}
};

class TurnTest : public ::testing::Test {
 protected:
  TurnTest() {
    ControllerOptions options;
    options.policies = &policies::standard_policies();
    options.clock = [this] { return now_us_; };
    options.monotonic = [this] { return now_us_; };
    options.on_fatal = [](const Error& /*error*/) {};
    controller_ = std::make_unique<Controller>(lease_, lease_, backend_, std::move(options));
    TurnOptions of_turn;
    of_turn.lease_us = kLease_us;
    of_turn.monotonic = [this] { return now_us_; };
    of_turn.says = [] { return "what it refused"; };
    Turn::Calls calls;
    calls.leads = [this] { said_.push_back("leads"); };
    calls.over = [this](const Error& error) { said_.push_back(error.code); };
    calls.rests = [this] { said_.push_back("rests"); };
    calls.handed = [this] { said_.push_back("handed"); };
    turn_ = std::make_unique<Turn>(lease_, lease_, *controller_, std::move(of_turn), calls);
  }

  std::int64_t now_us_ = 1'000'000'000;
  FakeLease lease_;
  NoBackend backend_;
  std::unique_ptr<Controller> controller_;
  std::vector<std::string> said_;
  std::unique_ptr<Turn> turn_;
};

TEST_F(TurnTest, StandsByWhileAnotherLeads) {
  lease_.held = true;
  const Turn::Next next = turn_->step();
  EXPECT_EQ(next.in_us, 700'000) << "the lease is over then";
  EXPECT_TRUE(next.with_news);
  EXPECT_FALSE(turn_->holds());
  EXPECT_EQ(turn_->standing().leader->holder, "other");
  EXPECT_EQ(lease_.said, 1);
  turn_->step();
  EXPECT_EQ(lease_.said, 1) << "not more than once a second";
  now_us_ += 1'000'000;
  turn_->step();
  EXPECT_EQ(lease_.said, 2);
  EXPECT_EQ(lease_.told, "what it refused");
}

TEST_F(TurnTest, HoldsForOneLeaseFromBeforeItsRenewal) {
  EXPECT_EQ(turn_->step().in_us, 0);
  EXPECT_EQ(said_, std::vector<std::string>{"leads"});
  now_us_ += 400'000;
  EXPECT_EQ(turn_->step().in_us, kLease_us / 3);
  now_us_ += kLease_us - 1;
  EXPECT_TRUE(turn_->holds());
  now_us_ += 1;
  EXPECT_FALSE(turn_->holds());
}

TEST_F(TurnTest, ALeaseThatIsNotRenewedEndsAndMayGoOn) {
  turn_->step();
  lease_.away = true;
  EXPECT_EQ(turn_->step().in_us, kLease_us / 20);
  now_us_ += kLease_us;
  turn_->step();
  EXPECT_FALSE(turn_->holds());
  lease_.away = false;
  turn_->step();
  EXPECT_TRUE(turn_->holds());
  EXPECT_EQ(said_, std::vector<std::string>{"leads"});
}

TEST_F(TurnTest, WhoseLeaseWasTakenEnds) {
  turn_->step();
  lease_.taken = true;
  EXPECT_TRUE(turn_->step().is_over);
  EXPECT_FALSE(turn_->holds());
  EXPECT_EQ(said_, (std::vector<std::string>{"leads", "not_leader"}));
}

TEST_F(TurnTest, HandsOverToWhoHasFoldedMostOfThoseThatAreThere) {
  EXPECT_EQ(turn_->hand_over("").error().code, "not_leader");
  turn_->step();
  EXPECT_EQ(turn_->hand_over("").error().code, "no_standby");
  EXPECT_EQ(turn_->hand_over("b").error().code, "no_such_controller");
  lease_.there = {{"a", "", "", Seq{9}, 100'000},
                  {"b", "", "", Seq{12}, 200'000},
                  {"c", "", "", Seq{99}, 6'000'000}};
  turn_->step();
  EXPECT_EQ(turn_->hand_over("c").error().code, "no_standby");
  EXPECT_EQ(turn_->hand_over("")->name, "b");
  EXPECT_EQ(turn_->hand_over("a").error().code, "handing_over");
  controller_->start_by_hand([] {});
  EXPECT_TRUE(turn_->step().is_over);
  EXPECT_EQ(said_, (std::vector<std::string>{"leads", "rests", "handed"}));
  EXPECT_EQ(lease_.released_to, std::vector<std::string>{"b"});
  EXPECT_FALSE(turn_->holds());
}

TEST_F(TurnTest, OthersThatWereNotReadAreNotNobody) {
  turn_->step();
  lease_.hides = true;
  turn_->step();
  EXPECT_FALSE(turn_->standbys().has_value());
  lease_.hides = false;
  now_us_ += 1'000'000;
  turn_->step();
  EXPECT_TRUE(turn_->standbys().has_value());
}

TEST_F(TurnTest, WaitsForAStoreThatIsAway) {
  lease_.away = true;
  const Turn::Next next = turn_->step();
  EXPECT_FALSE(next.is_over);
  EXPECT_EQ(next.in_us, 500'000);
  EXPECT_EQ(turn_->standing().trouble->code, "store_unreachable");
  lease_.away = false;
  turn_->step();
  EXPECT_TRUE(turn_->holds());
}

}  // namespace
}  // namespace dove::controller
