#include "wire/tls/tls_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wire/tls/authority.h"
#include "wire/tls/granted_for_test.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

// One direction between two ends in memory.
struct FakeWay {
  std::string bytes;
  int writes = 0;
  char* into = nullptr;
  std::size_t room = 0;
  Stream::Done read;

  void deliver(Loop& loop) {
    if (!read || bytes.empty()) return;
    const std::size_t size = std::min(room, bytes.size());
    std::memcpy(into, bytes.data(), size);
    bytes.erase(0, size);
    loop.post([done = std::exchange(read, nullptr), size] { done(0, size); });
  }
};

class FakeEnd final : public Stream {
 public:
  FakeEnd(Loop& loop, FakeWay& in, FakeWay& out) : loop_(loop), in_(in), out_(out) {}
  ~FakeEnd() override { in_.read = nullptr; }
  void read_some(char* data, std::size_t size, Done done) override {
    in_.into = data;
    in_.room = size;
    in_.read = std::move(done);
    in_.deliver(loop_);
  }
  void write_some(std::string_view data, Done done) override {
    ++out_.writes;
    out_.bytes += data;
    out_.deliver(loop_);
    loop_.post([done = std::move(done), size = data.size()] { done(0, size); });
  }
  void end_writing() override {}
  void close() override { in_.read = nullptr; }
  std::string peer_address() const override { return "10.0.0.1:1000"; }

 private:
  Loop& loop_;
  FakeWay& in_;
  FakeWay& out_;
};

class TlsStreamTest : public testing::Test {
 protected:
  TlsStreamTest() {
    const Authority authority = Authority::make("test", std::time(nullptr));
    served_ = accept_tls(loop_, std::make_unique<FakeEnd>(loop_, to_server_, to_client_),
                         Tls::for_server({.own = granted(authority, {.names = {"head"}})}).value(),
                         10s, [this](auto stream) { server_ = std::move(stream).value(); });
    called_ =
        connect_tls(loop_, std::make_unique<FakeEnd>(loop_, to_client_, to_server_),
                    Tls::for_client({.authorities_pem = authority.credentials().chain_pem}).value(),
                    "head", "head:1", 10s, [this](auto stream) {
                      client_ = std::move(stream).value();
                      if (!first_words_.empty())
                        client_->write_some(first_words_, [](int, std::size_t) {});
                    });
  }
  bool until(const std::function<bool()>& done) { return loop_.run_until(done, 20s); }

  Loop loop_;
  FakeWay to_server_;
  FakeWay to_client_;
  std::string first_words_;
  std::unique_ptr<Stream> server_;
  std::unique_ptr<Stream> client_;
  Handshake served_;
  Handshake called_;
};

// The server reads, and wakes up, once instead of twice for each of thousands.
TEST_F(TlsStreamTest, WhatAClientSaysFirstLeavesWithTheEndOfItsHandshake) {
  first_words_ = "hello";
  ASSERT_TRUE(until([this] { return server_ != nullptr; }));
  EXPECT_EQ(to_server_.writes, 2) << "the hello of TLS, and then all else";
  char heard[16];
  std::optional<std::size_t> size;
  server_->read_some(heard, sizeof heard, [&](int, std::size_t bytes) { size = bytes; });
  ASSERT_TRUE(until([&] { return size.has_value(); }));
  EXPECT_EQ(std::string(heard, *size), "hello");
}

TEST_F(TlsStreamTest, AClientThatSaysNothingEndsItsHandshakeToo) {
  EXPECT_TRUE(until([this] { return server_ != nullptr && client_ != nullptr; }));
}

}  // namespace
}  // namespace dove::wire
