#include "wire/streams/handshakes.h"

#include <gtest/gtest.h>

#include <ctime>
#include <vector>

#include "wire/streams/shares.h"
#include "wire/tls/authority.h"
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

class HandshakesTest : public testing::Test {
 protected:
  HandshakesTest() {
    const Authority authority = Authority::make("test", std::time(nullptr));
    Credentials own;
    own.key_pem = make_private_key();
    own.chain_pem = authority
                        .issue(*certificate_request(own.key_pem),
                               {.names = {"a"}, .now_s = std::time(nullptr), .valid_s = 3600})
                        .value();
    tls = Tls::for_server({.own = own}).value();
  }
  // Whether the peer at that address may go on.
  bool enters(Handshakes& handshakes, const std::string& address) {
    gone.push_back(std::make_unique<bool>(false));
    handshakes.begin(std::make_unique<FakeSilentPeer>(address, gone.back().get()), tls,
                     [](std::unique_ptr<Stream>) { ADD_FAILURE() << "nobody has said a word"; });
    return !*gone.back();
  }

  std::vector<std::unique_ptr<bool>> gone;  // peers end with the loop
  Loop loop;
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

TEST_F(HandshakesTest, OneThatIsYoungKeepsItsPlace) {
  Handshakes handshakes(loop, {.most = 1, .hello_time = 1h});
  EXPECT_TRUE(enters(handshakes, "10.0.0.1:1000"));
  EXPECT_FALSE(enters(handshakes, "10.0.0.2:1000"));
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
