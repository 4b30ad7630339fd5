// Fuzzes both ends of HTTP/2: bytes that a peer may send, in pieces, over a stream in memory.
//
// Besides not crashing: no body that is handled is longer than its limit, every stream that was
// begun hears of its end, and nothing of a connection is left when it has ended.
//
// seeds: tests/seeds/http2
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "wire/http2/http2_calls.h"
#include "wire/server_state.h"

namespace dove::wire {
namespace {

constexpr std::size_t kBodyBytesMax = 256;
constexpr std::string_view kHello("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

// Gives `text` in steps, takes what is written a few bytes at a time, and ends.
class FakePeer final : public Stream {
 public:
  FakePeer(Loop& loop, std::string text, std::size_t step)
      : loop_(loop), text_(std::move(text)), step_(step) {}

  void read_some(char* data, std::size_t size, Done done) override {
    const std::size_t count = std::min({size, step_, text_.size() - at_});
    std::copy_n(text_.data() + at_, count, data);
    at_ += count;
    loop_.post([done = std::move(done), count] { done(count == 0 ? kEnded : 0, count); });
  }
  void write_some(std::string_view data, Done done) override {
    loop_.post(
        [done = std::move(done), count = std::min(data.size(), 100 * step_)] { done(0, count); });
  }
  void end_writing() override {}
  void close() override {}
  std::string peer_address() const override { return "127.0.0.1:1"; }
  std::string peer_identity() const override { return "dove://c/node/n1"; }
  bool speaks_http2() const override { return true; }

 private:
  Loop& loop_;
  const std::string text_;
  const std::size_t step_;
  std::size_t at_ = 0;
};

struct Handled {
  std::vector<std::shared_ptr<Responder>> held;
  std::vector<std::shared_ptr<Outflow>> outs;
  std::size_t ended = 0;

  void take(const Request& request, const std::shared_ptr<Responder>& to) {
    CHECK(request.body.size() <= kBodyBytesMax, "the limit of the body holds");
    CHECK(request.path.starts_with('/'), "a path begins with a slash");
    switch (request.path.size() % 4) {
      case 0:
        return to->send({200, request.headers, request.body});
      case 1:
        outs.push_back(to->stream(200, request.headers));
        outs.back()->on_closed([this] { ++ended; });
        outs.back()->write(request.body + "line\n");
        return;
      case 2:
        return held.push_back(to);
      default:
        (void)to->take_over();
    }
  }
};

void check_server(Loop& loop, std::string text, std::size_t step) {
  Handled handled;
  ServerLimits limits;
  limits.header_bytes = 512;
  limits.stream_buffer_bytes = 4'096;
  limits.admit = [](const Request& head) -> Result<std::size_t> {
    if (head.method == "PUT") return Error{ErrorKind::kDenied, "no", "no", ""};
    return kBodyBytesMax;
  };
  const auto server = std::make_shared<ServerState>(
      loop, limits, [&](const Request& request, const std::shared_ptr<Responder>& to) {
        handled.take(request, to);
      });
  server->accept(std::make_unique<FakePeer>(loop, std::move(text), step));
  const auto over = [&] { return server->connections.empty(); };
  CHECK(over() || loop.run_until(over, std::chrono::seconds(8)), "a peer that ends is forgotten");
  for (const auto& each : handled.held) CHECK(!each->peer_alive(), "who is gone waits for nothing");
  const auto told = [&] { return handled.ended == handled.outs.size(); };
  CHECK(told() || loop.run_until(told, std::chrono::seconds(8)), "the end of a stream is told");
}

void check_client(Loop& loop, std::string text, std::size_t step) {
  int ended = 0;
  const auto calls =
      Http2Calls::begin(loop, std::make_unique<FakePeer>(loop, std::move(text), step));
  for (const char* method : {"GET", "POST", "HEAD"}) {
    const auto request = std::make_shared<Request>();
    request->method = method;
    request->target = "/";
    request->body = std::string(method) == "POST" ? "body" : "";
    calls->ask(request, Address{"127.0.0.1", 1, nullptr},
               {[](const Response& head) { CHECK(head.status / 100 != 1, "the answer's head"); },
                [](std::string_view bytes) { CHECK(!bytes.empty(), "a body is some bytes"); },
                [&](Http2Calls::Ending) { ++ended; }});
  }
  const auto told = [&] { return ended == 3; };
  CHECK(loop.run_until(told, std::chrono::seconds(8)), "each call hears its end");
}

}  // namespace
}  // namespace dove::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static dove::wire::Loop loop;
  const std::size_t step = 1 + data[0] % 37U * 7U;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const bool greets = data[0] >= 128;  // a client begins so, and fuzzers would not guess it
  dove::wire::check_server(loop, greets ? std::string(dove::wire::kHello) + text : text, step);
  dove::wire::check_client(loop, text, step);
  return 0;
}
