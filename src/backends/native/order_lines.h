// OrderLines turns orders into the lines that agents are sent.
//
// What all nodes of a launch share (spec, peers, commands) is written once and copied, so a gang of
// hundreds of nodes costs little more than one of two. Made for one round of orders; it refers to
// its sources. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backends/backend.h"
#include "core/state/state.h"

namespace dove::backends {

struct OrderSources {
  const core::State& state;
  // The ExecSpec blobs by digest, without those that are gone.
  std::map<std::string, std::shared_ptr<const std::string>> execs;
  std::function<std::string(JobId, AttemptNumber)> job_token;
  // How long a stop leaves the job that asked for it itself, so that it gets its answer first.
  std::function<std::int64_t(JobId)> stop_after_ms;
  std::function<std::string(Epoch, Seq)> head_proof;  // listener::Identity
};

class OrderLines {
 public:
  explicit OrderLines(OrderSources sources) : sources_(std::move(sources)) {}

  // One JSON object without '\n'.
  std::string write(const Order& order);

 private:
  const std::string& launch_text(const Order& order);

  OrderSources sources_;
  const Launch* written_ = nullptr;  // whose text is `text_`
  std::string text_;
};

}  // namespace dove::backends
