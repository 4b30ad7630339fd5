// Line: the calls of one AsyncClient in virtual time: one after the other, each with its time-out.
//
// One thread; callbacks may destroy it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "sim/explore/network.h"
#include "wire/world.h"

namespace dove::sim {

class Line : public wire::ClientLine {
 public:
  Line(Network& network, Host& host, std::string to, const wire::AsyncClientOptions& options);
  ~Line() override;
  void call(wire::Request request, std::function<void(Result<wire::Response>)> done,
            std::chrono::microseconds timeout) override;
  std::unique_ptr<wire::InStream> open_stream(wire::Request request,
                                              wire::StreamCallbacks callbacks) override;
  std::size_t pending() const override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dove::sim
