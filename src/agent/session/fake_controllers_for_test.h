// Controllers that answer one question each, in a world of its own time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/fake_time_for_test.h"

namespace dove::agent {

// Controllers by their names, each with what it says of itself; "": nobody listens.
class FakeControllers final : public wire::FakeTime {
 public:
  std::unique_ptr<wire::ClientLine> line(const std::string& host, std::uint16_t port,
                                         const wire::AsyncClientOptions&) override {
    return std::make_unique<Line>(*this, host, port);
  }

  struct Question {
    std::string host;
    std::string target;
    std::uint16_t port = 0;
    std::int64_t at_us = 0;
  };

  std::map<std::string, std::string> words;
  std::vector<Question> asked;

 private:
  struct Line final : wire::ClientLine {
    Line(FakeControllers& of, std::string to, std::uint16_t at)
        : world(of), host(std::move(to)), port(at) {}
    void call(wire::Request request, std::function<void(Result<wire::Response>)> done,
              std::chrono::microseconds) override {
      world.asked.push_back(
          {host, request.method + ' ' + request.target, port, world.monotonic_us()});
      world.after(std::chrono::milliseconds(1), [text = world.words[host], done = std::move(done)] {
        if (!text.empty()) return done(wire::Response{200, {}, text});
        done(Error{ErrorKind::kUnavailable, "connection_refused", "nobody listens", ""});
      });
    }
    void connect_within(std::chrono::microseconds) override {}
    std::unique_ptr<wire::InStream> open_stream(wire::Request, wire::StreamCallbacks) override {
      return nullptr;
    }
    std::size_t pending() const override { return 0; }
    FakeControllers& world;
    const std::string host;
    const std::uint16_t port;
  };
};

}  // namespace dove::agent
