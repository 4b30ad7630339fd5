#include "wire/streams/handshakes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/fake_time_for_test.h"
#include "wire/streams/shares.h"
#include "wire/tls/authority.h"
#include "wire/tls/granted_for_test.h"
#include "wire/tls/tls.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

// A peer that says nothing, and tells whether it was let go.
class FakeSilentPeer final : public Stream {
 public:
  FakeSilentPeer(std::string address, bool* gone) : address_(std::move(address)), gone_(gone) {}
  ~FakeSilentPeer() override { *gone_ = true; }
  void read_some(char*, std::size_t, Done) override {}
  void write_some(std::string_view, Done) override {}
  void end_writing() override {}
  void close() override { *gone_ = true; }
  std::string peer_address() const override { return address_; }

 private:
  std::string address_;
  bool* gone_;
};

// One that speaks when it is told to.
class FakePeer final : public Stream {
 public:
  struct Seen {
    bool gone = false;
    bool taken_up = false;
    Stream::Done read;
    char* into = nullptr;
  };
  FakePeer(std::string address, Seen& seen) : address_(std::move(address)), seen_(seen) {}
  ~FakePeer() override { close(); }
  void read_some(char* data, std::size_t, Done done) override {
    seen_.into = data;
    seen_.read = std::move(done);
  }
  void write_some(std::string_view, Done) override {}
  void end_writing() override {}
  void close() override {
    seen_.gone = true;
    seen_.read = nullptr;
  }
  bool peer_ended() override {
    seen_.taken_up = true;  // it is asked before its words are looked at
    return false;
  }
  std::string peer_address() const override { return address_; }

 private:
  std::string address_;
  Seen& seen_;
};

class HandshakesTest : public testing::Test {
 protected:
  HandshakesTest() {
    const Authority authority = Authority::make("test", std::time(nullptr));
    tls = Tls::for_server({.own = granted(authority, {.names = {"a"}})}).value();
  }
  // Whether the peer at that address may go on.
  bool enters(Handshakes& handshakes, const std::string& address) {
    gone.push_back(std::make_unique<bool>(false));
    handshakes.begin(std::make_unique<FakeSilentPeer>(address, gone.back().get()), tls,
                     [](std::unique_ptr<Stream>) { ADD_FAILURE() << "nobody has said a word"; });
    return !*gone.back();
  }

  // One that has said a part of a hello.
  FakePeer::Seen& comes(Handshakes& handshakes, const std::string& address) {
    FakePeer::Seen& seen = *peers.emplace_back(std::make_unique<FakePeer::Seen>());
    handshakes.begin(std::make_unique<FakePeer>(address, seen), tls, [](std::unique_ptr<Stream>) {
      ADD_FAILURE() << "a part of a hello makes no connection";
    });
    settle();
    constexpr std::string_view kPart("\x16\x03\x01\x02\x00\x01", 6);
    std::memcpy(seen.into, kPart.data(), kPart.size());
    std::exchange(seen.read, nullptr)(0, kPart.size());
    settle();
    return seen;
  }
  void leaves(FakePeer::Seen& seen) {
    std::exchange(seen.read, nullptr)(Stream::kEnded, 0);
    settle();
  }
  void settle() { world.run_for(0us); }

  std::vector<std::unique_ptr<bool>> gone;  // peers end with the loop
  std::vector<std::unique_ptr<FakePeer::Seen>> peers;
  FakeTime world{1'000'000};
  Loop loop{world};
  std::shared_ptr<const Tls> tls;
};

TEST_F(HandshakesTest, ANetworkHasItsShareAndLeavesOthersTheirs) {
  Handshakes handshakes(loop, {.most = 100, .most_of_network = 2});
  EXPECT_TRUE(enters(handshakes, "10.0.0.7:1000"));
  EXPECT_TRUE(enters(handshakes, "10.0.0.7:1001"));
  EXPECT_FALSE(enters(handshakes, "10.0.0.7:1002"));
  EXPECT_TRUE(enters(handshakes, "10.0.0.8:1000"));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(enters(handshakes, "127.0.0.1:1000"));
  handshakes.abandon();
  EXPECT_TRUE(enters(handshakes, "10.0.0.7:1003"));
}

TEST_F(HandshakesTest, TheOldestThatIsSilentMakesRoom) {
  Handshakes handshakes(loop, {.most = 2, .most_of_network = 2, .hello_time = 0us});
  EXPECT_TRUE(enters(handshakes, "10.0.0.1:1000"));
  EXPECT_TRUE(enters(handshakes, "10.0.0.2:1000"));
  EXPECT_TRUE(enters(handshakes, "10.0.0.3:1000"));
  EXPECT_TRUE(*gone[0]);
  EXPECT_FALSE(*gone[1]);
}

TEST_F(HandshakesTest, TheSilentHaveALimitOfTheirOwn) {
  Handshakes handshakes(loop, {.most_silent = 2, .hello_time = 100ms});
  EXPECT_TRUE(enters(handshakes, "10.0.0.1:1000"));
  EXPECT_TRUE(enters(handshakes, "10.0.0.2:1000"));
  EXPECT_TRUE(enters(handshakes, "10.0.0.3:1000")) << "nobody has been silent for long";
  EXPECT_FALSE(*gone[0]);
  world.run_for(100ms);
  EXPECT_TRUE(enters(handshakes, "10.0.0.4:1000"));
  EXPECT_TRUE(*gone[0]);
  EXPECT_FALSE(*gone[1]);
}

TEST_F(HandshakesTest, ANetworkThatFillsThePlacesOfTheSilentMakesRoomItself) {
  Handshakes handshakes(loop, {.most_silent = 4, .hello_time = 100ms});
  EXPECT_TRUE(enters(handshakes, "10.0.0.1:1000"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(enters(handshakes, "10.0.0.2:1000"));
  world.run_for(100ms);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(enters(handshakes, "10.0.0.2:1001"));
    world.run_for(50ms);
  }
  EXPECT_FALSE(*gone[0]);
  EXPECT_TRUE(*gone[1]);
  // Those of a network that comes back at once are young, and an older one is not spared for them.
  handshakes.abandon();
  EXPECT_TRUE(enters(handshakes, "10.0.0.1:1000"));
  const std::size_t older = gone.size() - 1;
  world.run_for(100ms);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(enters(handshakes, "10.0.0.2:1000"));
  EXPECT_TRUE(*gone[older]);
  handshakes.abandon();
}

TEST_F(HandshakesTest, OneThatIsYoungKeepsItsPlace) {
  Handshakes handshakes(loop, {.most = 1, .hello_time = 1h});
  EXPECT_TRUE(enters(handshakes, "10.0.0.1:1000"));
  EXPECT_FALSE(enters(handshakes, "10.0.0.2:1000"));
}

TEST_F(HandshakesTest, AFewAreWorkedOnAtATimeAndTheOthersWaitAsTheyCame) {
  Handshakes handshakes(loop, {.at_a_time = 2, .slow_after = 1h});
  FakePeer::Seen& first = comes(handshakes, "127.0.0.1:1000");
  const FakePeer::Seen& second = comes(handshakes, "127.0.0.1:1001");
  FakePeer::Seen& third = comes(handshakes, "127.0.0.1:1002");
  const FakePeer::Seen& fourth = comes(handshakes, "127.0.0.1:1003");
  EXPECT_TRUE(first.taken_up);
  EXPECT_TRUE(second.taken_up);
  EXPECT_FALSE(third.taken_up);
  leaves(first);
  EXPECT_TRUE(third.taken_up);
  EXPECT_FALSE(fourth.taken_up);
  leaves(third);
  EXPECT_TRUE(fourth.taken_up);
  handshakes.abandon();
  EXPECT_TRUE(second.gone);
}

TEST_F(HandshakesTest, OneThatIsSlowHoldsUpNobody) {
  Handshakes handshakes(loop, {.at_a_time = 1, .slow_after = 250ms});
  const FakePeer::Seen& slow = comes(handshakes, "10.0.0.1:1000");
  const FakePeer::Seen& next = comes(handshakes, "10.0.0.2:1000");
  world.run_for(200ms);
  EXPECT_FALSE(next.taken_up);
  world.run_for(150ms);
  EXPECT_TRUE(next.taken_up);
  EXPECT_FALSE(slow.gone);
  handshakes.abandon();
}

// A twentieth of a core: 10 ms of each 200. Those that were begun are to end first.
TEST_F(HandshakesTest, AServerThatLacksCpuTakesNobodyForSlowBeforeItHasLooked) {
  Handshakes handshakes(loop, {.at_a_time = 2, .slow_after = 250ms});
  FakePeer::Seen& first = comes(handshakes, "127.0.0.1:1000");
  const FakePeer::Seen& second = comes(handshakes, "127.0.0.1:1001");
  const FakePeer::Seen& third = comes(handshakes, "127.0.0.1:1002");
  const FakePeer::Seen& fourth = comes(handshakes, "127.0.0.1:1003");
  world.pause(5s);
  EXPECT_FALSE(third.taken_up) << "what the others sent meanwhile has not been read";
  leaves(first);
  EXPECT_TRUE(third.taken_up);
  for (int i = 0; i < 4; ++i) world.pause(200ms);
  EXPECT_FALSE(fourth.taken_up);
  for (int i = 0; i < 4; ++i) world.pause(200ms);
  EXPECT_TRUE(fourth.taken_up) << "it has looked often enough";
  EXPECT_FALSE(second.gone);
  handshakes.abandon();
}

// As behind one router, or in one network of IPv6.
TEST_F(HandshakesTest, WhoeverComesLaterOfOneNetworkIsTakenUpLater) {
  Handshakes handshakes(loop, {.at_a_time = 1, .slow_after = 1h});
  FakePeer::Seen& first = comes(handshakes, "10.0.0.1:1000");
  FakePeer::Seen& second = comes(handshakes, "10.0.0.1:1001");
  FakePeer::Seen& third = comes(handshakes, "10.0.0.1:1002");
  const FakePeer::Seen& fourth = comes(handshakes, "10.0.0.1:1003");
  leaves(first);
  leaves(second);
  const FakePeer::Seen& fifth = comes(handshakes, "10.0.0.1:1004");
  leaves(third);
  EXPECT_TRUE(fourth.taken_up);
  EXPECT_FALSE(fifth.taken_up);
  handshakes.abandon();
}

TEST_F(HandshakesTest, ANetworkWithManyWaitsBehindThoseWithFewer) {
  Handshakes handshakes(loop, {.at_a_time = 1, .slow_after = 1h});
  FakePeer::Seen& first = comes(handshakes, "10.0.0.1:1000");
  FakePeer::Seen& one_of_many = comes(handshakes, "10.0.0.2:1000");
  const FakePeer::Seen& another = comes(handshakes, "10.0.0.2:1001");
  FakePeer::Seen& only = comes(handshakes, "10.0.0.3:1000");
  leaves(first);
  EXPECT_TRUE(one_of_many.taken_up);
  leaves(one_of_many);
  EXPECT_TRUE(only.taken_up);
  EXPECT_FALSE(another.taken_up);
  leaves(only);
  EXPECT_TRUE(another.taken_up);
  handshakes.abandon();
}

TEST_F(HandshakesTest, WhatANetworkHadWhileNobodyWaitedIsNotHeldAgainstIt) {
  Handshakes handshakes(loop, {.at_a_time = 2, .slow_after = 1h});
  comes(handshakes, "10.0.0.1:1000");
  for (int i = 0; i < 5; ++i) leaves(comes(handshakes, "10.0.0.1:1001"));
  FakePeer::Seen& first = comes(handshakes, "10.0.0.2:1000");
  FakePeer::Seen& second = comes(handshakes, "10.0.0.2:1001");
  const FakePeer::Seen& third = comes(handshakes, "10.0.0.2:1002");
  const FakePeer::Seen& another = comes(handshakes, "10.0.0.1:1002");
  leaves(first);
  leaves(second);
  EXPECT_TRUE(another.taken_up);
  EXPECT_FALSE(third.taken_up);
  handshakes.abandon();
}

TEST_F(HandshakesTest, APartOfAHelloMakesRoomAndOneThatWaitsDoesNot) {
  Handshakes handshakes(loop, {.most = 2, .hello_time = 0us, .at_a_time = 1, .slow_after = 1h});
  const FakePeer::Seen& stuck = comes(handshakes, "10.0.0.1:1000");
  const FakePeer::Seen& waits = comes(handshakes, "10.0.0.2:1000");
  EXPECT_FALSE(waits.taken_up);
  EXPECT_TRUE(enters(handshakes, "10.0.0.3:1000"));
  EXPECT_TRUE(stuck.gone);
  settle();
  EXPECT_TRUE(waits.taken_up);
  EXPECT_FALSE(waits.gone);
  handshakes.abandon();
}

TEST(Shares, ArePartiesOwn) {
  Shares shares;
  EXPECT_TRUE(shares.enter("a", 1));
  EXPECT_FALSE(shares.enter("a", 1));
  EXPECT_TRUE(shares.enter("b", 1));
  shares.leave("a");
  EXPECT_TRUE(shares.enter("a", 1));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(shares.enter("", 1)) << "this machine";
}

}  // namespace
}  // namespace dove::wire
