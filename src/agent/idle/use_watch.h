// UseWatch: how much the attempts of this node use of what they hold, and what their apps report
// about their users.
//
// At each look at the devices it takes the readings that exist anyway, and has the processes
// counted on a side thread. Apps that know their users are asked on threads of their own, one
// question at a time. It then reports, for each attempt, what was measured since the last time.
// What could not be measured is left out, so that it does not look like zero. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/forward/forward_session.h"
#include "agent/idle/app_word.h"
#include "agent/idle/process_use.h"
#include "devices/readings.h"
#include "protocol/reports.h"
#include "wire/loop.h"

namespace dove::agent {

class UseWatch {
 public:
  struct Gpu {
    std::int32_t device = 0;  // its number on the node
    std::string uuid;
  };
  struct Attempt {
    AttemptKey key;
    std::string mark;                  // attempt_mark
    std::int32_t cores = 0;            // that it holds here
    std::vector<Gpu> gpus;             // that it holds, or a part of, here
    std::optional<AppSpec> app;        // whose program runs here
    std::optional<ForwardTarget> way;  // to the app; unset: it does not run yet
  };
  struct Host {
    std::function<std::vector<Attempt>()> attempts;
    std::function<std::int64_t()> monotonic_us;
    std::function<std::int64_t()> wall_us;
    // Runs `work` on a side thread, then `done` on the loop. What hangs for ever is not asked
    // again: then nothing is known, and nothing is idle.
    std::function<void(const std::string& lane, std::function<void()> work,
                       std::function<void()> done)>
        aside;
    std::function<void(protocol::Use)> tell;
  };

  // This part of one core is work: a shell, an editor or a clock in a terminal takes less.
  static constexpr std::int32_t kTerminalBusy = 500;  // hundredths of a percent
  static constexpr std::chrono::milliseconds kAppLimit{3'000};

  explicit UseWatch(Host host) : host_(std::move(host)) {}

  // What devices said a moment ago.
  void saw(const std::vector<devices::DeviceSample>& samples);

 private:
  // Hundredths of a percent.
  struct Mean {
    std::int64_t sum = 0;
    std::int64_t count = 0;
    bool is_whole = true;  // nothing was missing
    void add(std::optional<std::int32_t> value);
    std::optional<std::int32_t> take();
  };
  struct Watched {
    Mean gpu;
    Mean gpu_memory;
    std::map<std::int32_t, Mean> devices;  // by number
    std::optional<ProcessUse> before;
    std::int64_t counted_us = 0;  // when `before` was, by the steady clock
    bool is_asked = false;        // its app
    std::optional<AppWord> word;  // the last answer, until it is told
  };

  void count(const std::vector<Attempt>& all);
  void counted(const std::vector<Attempt>& all, const std::map<std::string, ProcessUse>& uses);
  void ask(const Attempt& attempt);
  protocol::Use report(const Attempt& attempt, Watched& watched, const ProcessUse* use,
                       std::int64_t now_us);

  const Host host_;
  std::map<AttemptKey, Watched> watched_;
  bool is_counting_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // expires with this
};

}  // namespace dove::agent
