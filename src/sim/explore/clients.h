// Clients: people who submit jobs and change their minds, over a network that may fail.
//
// Every submission is repeated under its idempotency key until it is answered; every answer is told
// to the oracle. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/explore/agenda.h"
#include "sim/explore/network.h"
#include "sim/explore/oracle.h"
#include "sim/explore/process.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::sim {

struct ClientOptions {
  std::string token;
  std::vector<std::string> controllers = {"controller"};  // by their machines; all are tried
  std::int64_t jobs_per_day = 0;
  std::int64_t mean_run_us = 0;
  std::int32_t gpus_per_node = 0;
  std::int32_t nodes = 0;
  // They also ask for restarts, and submit jobs of several priorities that may be preempted.
  bool restless = false;
  std::string executor;  // that some of their jobs name; "": none
};

class Clients {
 public:
  Clients(Agenda& agenda, Network& network, Oracle& oracle, ClientOptions options,
          std::uint64_t seed);

  // Submits from now on until stop().
  void start();
  void stop() { stopped_ = true; }
  // An administrator's call: repeated until it was answered.
  void call(const std::string& method, const std::string& target, std::string body = "");
  // The same, for one that makes something: `done` gets the answer's body.
  void make(const std::string& target, const std::string& body,
            const std::function<void(const std::string&)>& done);
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t waiting() const { return waiting_; }
  std::uint64_t calls() const { return calls_; }  // to jobs and nodes; submissions not counted

 private:
  struct Submission {
    std::string key;
    std::string body;
    std::int64_t begun_us = 0;
  };
  wire::AsyncClient& line() { return *lines_[at_]; }
  // Whether that was an answer; if not, the next controller is asked from now on.
  bool is_answer(const Result<wire::Response>& answer);
  void submit_next();
  std::string next_body();
  std::string shape();
  std::string executors_shape();
  std::string shape_of_kind(std::uint64_t kind);
  void submit(const std::shared_ptr<const Submission>& submission);
  void answered(const std::shared_ptr<const Submission>& submission,
                const Result<wire::Response>& answer);
  void change_mind(std::uint64_t job);
  wire::Request request(const std::string& method, const std::string& target,
                        std::string body) const;

  Agenda& agenda_;
  Oracle& oracle_;
  const ClientOptions options_;
  Random random_;
  Host host_;
  Process process_;
  wire::Loop loop_;
  std::vector<std::unique_ptr<wire::AsyncClient>> lines_;  // to each controller
  std::size_t at_ = 0;                                     // the one that is asked
  bool stopped_ = false;
  std::uint64_t submissions_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t waiting_ = 0;
  std::uint64_t calls_ = 0;
  std::vector<std::uint64_t> recent_jobs_;  // for dependencies
};

}  // namespace dove::sim
