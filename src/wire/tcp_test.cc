// Connections to hosts by their names, as a name server gives their addresses.
#include "wire/tcp.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "wire/server.h"
#include "wire/test_peer.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

// Knows "slow.test" and says so when it is told to; "two.test" has two addresses.
class FakeNames {
 public:
  static FakeNames& get() {
    static FakeNames one;
    return one;
  }
  void hold(bool is_held) {
    const std::lock_guard lock(mutex_);
    is_held_ = is_held;
    changed_.notify_all();
  }
  int look_up(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
    const std::string_view asked = name == nullptr ? "" : name;
    if (asked != "slow.test" && asked != "two.test") return system_(name, service, hints, found);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 10s, [&] { return asked == "two.test" || !is_held_; });
    const int failed = system_("127.0.0.1", service, hints, found);
    if (failed != 0 || asked == "slow.test") return failed;
    while (*found != nullptr) found = &(*found)->ai_next;
    return system_("127.0.0.2", service, hints, found);
  }

 private:
  using LookUp = int(const char*, const char*, const addrinfo*, addrinfo**);
  LookUp* const system_ = reinterpret_cast<LookUp*>(dlsym(RTLD_NEXT, "getaddrinfo"));
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
};

class TcpTest : public testing::Test {
 protected:
  ~TcpTest() override { FakeNames::get().hold(false); }
  void connect(const std::string& host, std::uint16_t port, ReachTimes reach) {
    attempt_ = connect_tcp(
        loop, host, port, 10s,
        [this](const Result<std::unique_ptr<Stream>>& result) {
          said = result.ok() ? "connected" : result.error().code;
        },
        reach);
  }
  bool is_over(std::chrono::milliseconds within) {
    return loop.run_until([this] { return !said.empty(); }, within);
  }

  Loop loop;
  Server server{loop, {}, [](const Request&, const std::shared_ptr<Responder>&) {}};
  std::string said;

 private:
  ConnectAttempt attempt_;
};

// Else nobody who knows several machines would reach any while the first name server is down.
TEST_F(TcpTest, a_name_may_take_longer_than_its_host) {
  ASSERT_TRUE(server.listen("127.0.0.1", 0).ok());
  FakeNames::get().hold(true);
  connect("slow.test", server.port(), {.host = 300ms});
  EXPECT_FALSE(is_over(400ms)) << said;
  FakeNames::get().hold(false);
  ASSERT_TRUE(is_over(10s));
  EXPECT_EQ(said, "connected");
}

TEST_F(TcpTest, all_addresses_are_asked_within_the_hosts_time) {
  const SilentPort first;
  ASSERT_TRUE(server.listen("127.0.0.2", first.port).ok());
  connect("two.test", first.port, {.host = 800ms});
  ASSERT_TRUE(is_over(10s));
  EXPECT_EQ(said, "connected");
}

}  // namespace

int look_up_name(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  return FakeNames::get().look_up(name, service, hints, found);
}

}  // namespace dove::wire

// In the place of the system's, for this program.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  return dove::wire::look_up_name(name, service, hints, found);
}
