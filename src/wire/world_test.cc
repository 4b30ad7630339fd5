#include "wire/world.h"

#include <gtest/gtest.h>

#include <utility>

#include "wire/async_client.h"
#include "wire/fake_time_for_test.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::wire {
namespace {

// Messages arrive at once, at whoever listens.
class FakeWorld : public FakeTime {
 public:
  std::unique_ptr<ClientLine> line(const std::string&, std::uint16_t,
                                   const AsyncClientOptions&) override {
    return std::make_unique<Direct>(*this);
  }
  std::unique_ptr<Listening> listen(std::uint16_t, Handler handler) override {
    handler_ = std::move(handler);
    return std::make_unique<Ear>(*this);
  }
  bool listens() const { return handler_ != nullptr; }

 private:
  struct Ear : Listening {
    explicit Ear(FakeWorld& of) : world(of) {}
    ~Ear() override { world.handler_ = nullptr; }
    std::uint16_t port() const override { return 7; }
    FakeWorld& world;
  };
  struct Answer : Responder {
    explicit Answer(std::function<void(Result<Response>)> to) : done(std::move(to)) {}
    void send(Response response) override { done(std::move(response)); }
    std::shared_ptr<Outflow> stream(int, Pairs) override { return nullptr; }
    bool peer_alive() const override { return true; }
    std::function<void(Result<Response>)> done;
  };
  struct Direct : ClientLine {
    explicit Direct(FakeWorld& of) : world(of) {}
    void call(Request request, std::function<void(Result<Response>)> done,
              std::chrono::microseconds) override {
      world.handler_(std::move(request), std::make_shared<Answer>(std::move(done)));
    }
    std::unique_ptr<InStream> open_stream(Request, StreamCallbacks) override { return nullptr; }
    std::size_t pending() const override { return 0; }
    FakeWorld& world;
  };

  Handler handler_;
};

TEST(World, HoldsALoopsTime) {
  FakeWorld world;
  Loop loop(world);
  std::string happened;
  const Timer late = loop.after(std::chrono::hours(1), [&] { happened += "late "; });
  Timer cancelled = loop.after(std::chrono::hours(1), [&] { happened += "cancelled "; });
  loop.post([&] { happened += "posted "; });
  cancelled.cancel();
  world.run_until(1);
  EXPECT_EQ(happened, "posted ");
  EXPECT_TRUE(late.pending());
  EXPECT_EQ(loop.monotonic_us(), 1);
  world.run_until(3'600'000'000);
  EXPECT_EQ(happened, "posted late ");
  EXPECT_FALSE(late.pending());
}

TEST(World, CarriesCallsInPlaceOfSockets) {
  FakeWorld world;
  Loop loop(world);
  {
    Server server(loop, ServerLimits(), [](Request request, std::shared_ptr<Responder> responder) {
      responder->send(Response{200, {}, "you said " + request.body});
    });
    ASSERT_TRUE(server.listen("127.0.0.1", 0).ok());
    EXPECT_EQ(server.port(), 7);
    AsyncClient client(loop, "anywhere", 1);
    std::string answer;
    Request request;
    request.body = "hello";
    client.call(std::move(request),
                [&](const Result<Response>& got) { answer = got.ok() ? got->body : "an error"; });
    EXPECT_EQ(answer, "you said hello");
  }
  EXPECT_FALSE(world.listens()) << "a server that is gone hears nothing";
}

}  // namespace
}  // namespace dove::wire
