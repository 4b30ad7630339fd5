// RestGate: changes jobs at the gate through slurmrestd where that can be done exactly; the rest by
// scontrol. A task of an array is always scontrol's: slurmrestd 22.05 finds none by its number.
//
// Calls block, each for at most a few seconds. One thread.
#pragma once

#include "slurm/gate/gate_control.h"
#include "slurm/rest/rest_api.h"

namespace dove::slurm {

class RestGate : public GateControl {
 public:
  // Both outlive it.
  RestGate(GateControl& commands, const RestApi& api) : commands_(commands), api_(api) {}

  Result<void> place(const std::string& handle, const GatePlacing& placing) override;
  Result<void> let_go(const std::string& handle) override;
  Result<void> put_back(const std::string& handle, const GatePutBack& one) override;
  Result<void> say(const std::string& handle, const std::string& words) override;
  Result<void> mark(const std::string& handle, const std::string& text) override;

 private:
  GateControl& commands_;
  const RestApi& api_;
};

}  // namespace dove::slurm
