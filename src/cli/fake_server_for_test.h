// FakeServer gives the answers that a test defines, on a loopback port, and keeps the requests. For
// tests.
//
// Made and destroyed on the test's thread; the handler runs on the server's own.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "wire/loop.h"
#include "wire/server.h"

namespace dove::cli {

class FakeServer {
 public:
  struct Answer {
    int status = 200;
    std::string body = "{}";
    bool stream = false;                           // the body in one piece, then the end
    std::function<void(FakeServer&)> before = {};  // called before it answers
  };

  // `answers` by "METHOD /path" without the query.
  explicit FakeServer(std::map<std::string, Answer> answers) : answers_(std::move(answers)) {
    std::promise<std::uint16_t> port;
    std::future<std::uint16_t> ready = port.get_future();
    thread_ = std::thread([this, &port] {
      wire::Loop loop;
      wire::Server server(
          loop, {}, [this](wire::Request request, std::shared_ptr<wire::Responder> responder) {
            answer(std::move(request), std::move(responder));
          });
      loop_ = &loop;
      const bool listens = server.listen("127.0.0.1", 0).ok();
      port.set_value(listens ? server.port() : 0);
      loop.run();
    });
    port_ = ready.get();
  }
  ~FakeServer() {
    loop_->stop();
    thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void set(const std::string& key, Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_[key] = std::move(answer);
  }
  std::vector<wire::Request> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // The body of the last request of that "METHOD /path".
  std::string body_of(const std::string& key) {
    const std::lock_guard lock(mutex_);
    std::string body;
    for (const wire::Request& request : requests_) {
      if (request.method + " " + request.path == key) body = request.body;
    }
    return body;
  }

 private:
  void answer(wire::Request request, std::shared_ptr<wire::Responder> responder) {
    Answer found{404, R"({"code":"not_found","detail":"there is no such thing"})"};
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      const auto known = answers_.find(request.method + " " + request.path);
      if (known != answers_.end()) found = known->second;
    }
    if (found.before) found.before(*this);
    if (!found.stream) {
      const char* type = found.status >= 400 ? "application/problem+json" : "application/json";
      responder->send({found.status, {{"Content-Type", type}}, found.body});
      return;
    }
    const auto out = responder->stream(found.status, {{"Content-Type", "application/x-ndjson"}});
    out->write(found.body);
    out->close();
  }

  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<wire::Request> requests_;
  std::thread thread_;
  wire::Loop* loop_ = nullptr;
  std::uint16_t port_ = 0;
};

}  // namespace dove::cli
