#include "sim/explore/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dove::sim {
namespace {

constexpr std::int64_t kDay_us = 86'400'000'000;
constexpr std::int64_t kHour_us = 3'600'000'000;
constexpr std::size_t kRecentMax = 16;
// A key is good for a day. The last repetition may lie for hours at a controller that stands still.
constexpr std::int64_t kRepeated_us = 8 * kHour_us;

}  // namespace

Clients::Clients(Agenda& agenda, Network& network, Oracle& oracle, ClientOptions options,
                 std::uint64_t seed)
    : agenda_(agenda),
      oracle_(oracle),
      options_(std::move(options)),
      random_(seed),
      process_(network, host_),
      loop_(process_) {
  host_.name = "clients";
  for (const std::string& name : options_.controllers) {
    lines_.push_back(std::make_unique<wire::AsyncClient>(loop_, name, 1));
  }
}

void Clients::start() {
  stopped_ = false;
  submit_next();
}

bool Clients::is_answer(const Result<wire::Response>& answer) {
  constexpr int kTooMany = 429;  // asked while nobody answered, and read all at once
  if (answer.ok() && answer->status < 500 && answer->status != kTooMany) return true;
  at_ = (at_ + 1) % lines_.size();
  return false;
}

void Clients::submit_next() {
  if (stopped_) return;
  auto submission = std::make_shared<Submission>();
  submission->key = fmt::format("key-{}", ++submissions_);
  submission->body = next_body();
  submission->begun_us = agenda_.now_us();
  ++waiting_;
  submit(submission);
  const std::int64_t mean_us = kDay_us / options_.jobs_per_day;
  agenda_.in(static_cast<std::int64_t>(random_.below(2 * static_cast<std::uint64_t>(mean_us))),
             [this] { submit_next(); });
}

// Most jobs have one node or a part of one, some are gangs.
std::string Clients::shape() {
  const std::uint64_t kind = random_.below(100);
  // Beside a Slurm memory is short, too.
  const bool has_memory = options_.restless && random_.below(3) == 0;
  const std::string memory =
      has_memory ? fmt::format(R"(,"memory":"{}Gi")", 1 << random_.below(9)) : "";
  return shape_of_kind(kind) + memory;
}

std::string Clients::shape_of_kind(std::uint64_t kind) {
  const auto some = [this](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most)));
  };
  if (kind < 50) return fmt::format(R"("gpus":{},"cores":{})", some(2), some(4));
  if (kind < 65) return fmt::format(R"("cores":{})", some(8));
  if (kind < 75) return R"("gpus":"0.5","cores":1)";
  if (kind < 90) return fmt::format(R"("gpus":{},"cores":4)", options_.gpus_per_node);
  const std::int64_t nodes = 1 + some(std::min(4, std::max(1, options_.nodes / 4)));
  if (kind < 98) {
    return fmt::format(R"("nodes":{},"gpus":{},"cores":2)", nodes, options_.gpus_per_node / 2);
  }
  return fmt::format(R"("nodes":{},"tasks_per_node":2,"gpus":1,"cores":1)", nodes);
}

// What an executor can give of a few nodes, of which it may be lent a part.
std::string Clients::executors_shape() {
  const std::uint64_t kind = random_.below(100);
  if (kind < 60) return fmt::format(R"("gpus":{},"cores":{})", 1 + kind % 2, 1 + kind % 4);
  if (kind < 80) return fmt::format(R"("cores":{})", 1 + kind % 8);
  if (kind < 90) return R"("nodes":2,"gpus":2,"cores":2)";
  return R"("nodes":2,"tasks_per_node":2,"gpus":1,"cores":1)";
}

std::string Clients::next_body() {
  const auto mean = static_cast<std::uint64_t>(options_.mean_run_us);
  // Many are short, a few are ten times the mean.
  const std::uint64_t length = random_.below(100);
  std::uint64_t run_us = random_.below(mean) + 1'000'000;
  if (length < 20) run_us = random_.below(60'000'000) + 100'000;
  if (length >= 97) run_us = random_.below(10 * mean) + 1'000'000;
  const bool is_drawn = random_.below(20) == 0;
  const bool is_executors = !options_.executor.empty() && random_.below(4) == 0;
  const std::string shape = is_executors ? executors_shape() : this->shape();
  // An executor runs a script on one node.
  const bool batch = is_drawn && !(is_executors && shape.find("nodes") != std::string::npos);
  std::string body = batch ? R"({"script":"#!/bin/sh\n",)" : R"({"command":["train"],)";
  body += shape;
  if (is_executors) body += fmt::format(R"(,"executor":"{}")", options_.executor);
  body += fmt::format(
      R"(,"environment":{{"EXPLORE_RUN_US":"{}","EXPLORE_FAILS_PERCENT":"{}"}},"retries_max":{})",
      run_us, random_.below(4) == 0 ? 40 : 2, random_.below(3));
  if (random_.below(10) == 0) body += R"(,"requeue":false)";
  if (random_.below(4) == 0) {
    const std::uint64_t limit_s = random_.below(4 * mean) / 1'000'000 + 60;
    body += fmt::format(R"(,"time_limit_s":{})", limit_s);
  }
  if (random_.below(20) == 0) body += R"(,"kill_grace_s":5)";
  if (random_.below(8) == 0 && !recent_jobs_.empty()) {
    body += fmt::format(R"(,"dependencies":[{{"kind":"{}","job":{}}}])",
                        random_.below(3) == 0 ? "afterany" : "afterok",
                        recent_jobs_[random_.below(recent_jobs_.size())]);
  }
  if (options_.restless) {
    body += fmt::format(R"(,"priority":{})", random_.below(4));
    if (random_.below(3) == 0) body += R"(,"preempt":"restart")";
  }
  return body + fmt::format(R"(,"name":"job{}"}})", submissions_);
}

wire::Request Clients::request(const std::string& method, const std::string& target,
                               std::string body) const {
  wire::Request out;
  out.method = method;
  out.target = target;
  out.headers = {{"Authorization", "Bearer " + options_.token},
                 {"Content-Type", "application/json"}};
  out.body = std::move(body);
  return out;
}

void Clients::submit(const std::shared_ptr<const Submission>& submission) {
  wire::Request message = request("POST", "/v1/jobs", submission->body);
  message.headers.emplace_back("Idempotency-Key", submission->key);
  line().call(std::move(message), [this, submission](const Result<wire::Response>& answer) {
    answered(submission, answer);
  });
}

void Clients::answered(const std::shared_ptr<const Submission>& submission,
                       const Result<wire::Response>& answer) {
  if (!is_answer(answer)) {
    const auto wait_us = static_cast<std::int64_t>(1'000'000 + random_.below(60'000'000));
    if (agenda_.now_us() + wait_us > submission->begun_us + kRepeated_us) {
      --waiting_;
      return;
    }
    return agenda_.in(wait_us, [this, submission] { submit(submission); });
  }
  --waiting_;
  const auto body = nlohmann::json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  // A dependency may have been forgotten by now: that submission is refused, rightly.
  if (answer->status == 400 || answer->status == 422 || answer->status == 404) {
    if (body.is_object() && body.value("field", "").find("dependencies") != std::string::npos) {
      return;
    }
  }
  if (answer->status != 201 || !body.is_object() || !body.contains("id")) {
    return oracle_.fail(fmt::format("a submission was answered {}: {}; it was {}", answer->status,
                                    answer->body, submission->body));
  }
  const auto id = body.at("id").get<std::uint64_t>();
  ++acknowledged_;
  oracle_.acknowledged(submission->key, id);
  recent_jobs_.push_back(id);
  if (recent_jobs_.size() > kRecentMax) recent_jobs_.erase(recent_jobs_.begin());
  if (random_.below(options_.restless ? 2 : 15) == 0) change_mind(id);
}

void Clients::change_mind(std::uint64_t job) {
  const auto wait_us = static_cast<std::int64_t>(random_.below(6 * kHour_us));
  const bool holds = random_.below(3) == 0;
  const bool restarts = options_.restless && random_.below(2) == 0;
  agenda_.in(wait_us, [this, job, holds, restarts] {
    if (stopped_) return;
    const std::string path = fmt::format("/v1/jobs/{}", job);
    if (restarts) {
      call("POST", path + "/requeue");
    } else if (holds) {
      call("POST", path + "/hold");
      agenda_.in(kHour_us, [this, path] { call("POST", path + "/release"); });
    } else {
      oracle_.cancel_asked(job);
      call("POST", path + "/cancel");
    }
  });
}

void Clients::call(const std::string& method, const std::string& target, std::string body) {
  ++calls_;
  line().call(request(method, target, body),
              [this, method, target, body](const Result<wire::Response>& answer) {
                if (is_answer(answer)) return;
                agenda_.in(static_cast<std::int64_t>(1'000'000 + random_.below(60'000'000)),
                           [this, method, target, body] { call(method, target, body); });
              });
}

void Clients::make(const std::string& target, const std::string& body,
                   const std::function<void(const std::string&)>& done) {
  ++calls_;
  line().call(request("POST", target, body),
              [this, target, body, done](const Result<wire::Response>& answer) {
                if (is_answer(answer) && answer->status == 201) return done(answer->body);
                agenda_.in(static_cast<std::int64_t>(1'000'000 + random_.below(60'000'000)),
                           [this, target, body, done] { make(target, body, done); });
              });
}

}  // namespace dove::sim
