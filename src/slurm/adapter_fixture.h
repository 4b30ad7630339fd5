// An Adapter between a FakeSlurm and a controller whose answers the test chooses.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "slurm/adapter.h"
#include "slurm/fake_slurm_for_test.h"

namespace dove::slurm {

class AdapterFixture : public testing::Test {
 protected:
  AdapterFixture() { restart(); }

  void restart() {
    adapter_.emplace(
        slurm_,
        [this](const SyncRequest& request) -> Result<SyncAnswer> {
          requests_.push_back(request);
          if (controller_down_) return Error{ErrorKind::kUnavailable, refusal_code_, "", ""};
          return answer_;
        },
        [this] { return now_us_; }, AdapterOptions{}, steps_);
  }
  void want(std::vector<int> devices) {
    Wanted one;
    one.key = {17, 1, "n1"};
    one.devices = std::move(devices);
    answer_.wanted = {one};
    ++answer_.version;
  }
  const SyncRequest& last() const { return requests_.back(); }

  FakeSlurm slurm_;
  std::vector<SyncRequest> requests_;
  SyncAnswer answer_;
  bool controller_down_ = false;
  std::string refusal_code_ = "connection_refused";
  std::int64_t now_us_ = kStart_us;
  Steps* steps_ = nullptr;  // taken with the next restart()
  std::optional<Adapter> adapter_;
};

}  // namespace dove::slurm
