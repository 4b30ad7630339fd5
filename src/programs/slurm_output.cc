#include "programs/slurm_output.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "slurm/works/output_file.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"
#include "wire/http.h"

namespace dove::programs {
namespace {

constexpr int kWait_s = 20;
constexpr int kAnswerLimit_ms = (kWait_s + 10) * 1000;
constexpr std::chrono::seconds kPauseMin{1};
constexpr std::chrono::seconds kPauseMax{30};
constexpr std::chrono::milliseconds kAskAgain{100};  // while something is read
constexpr std::int64_t kAgain_us = 10'000'000;       // from one beginning to the next

// The part, or why there is none, of a call.
struct Sent {
  std::string query;
  std::string body;
};

Sent sent_of(slurm::PartDone done) {
  Sent sent;
  sent.query = "&part=" + wire::percent_encode(done.name);
  if (!done.part.ok()) {
    sent.query += "&error=" + wire::percent_encode(done.part.error().code);
    sent.body = done.part.error().message;
    return sent;
  }
  sent.query += fmt::format("&offset={}&size={}&end={}", done.part->offset, done.part->size,
                            done.part->at_end ? 1 : 0);
  sent.body = std::move(done.part->bytes);
  return sent;
}

}  // namespace

SlurmOutput::SlurmOutput(std::string url, wire::ClientOptions client, std::string executor)
    : url_(std::move(url)), client_(std::move(client)), target_(std::move(executor) + "/output") {}

SlurmOutput::~SlurmOutput() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void SlurmOutput::keep() {
  if (process_ > 0 && ::waitpid(process_, nullptr, WNOHANG) == 0) return;
  process_ = -1;  // the number may be another's from now on
  const std::int64_t now_us = telemetry::monotonic_us();
  if (begun_us_ != 0 && now_us - begun_us_ < kAgain_us) return;
  begun_us_ = now_us;
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) {
    telemetry::log(telemetry::Level::kWarning, "output_not_sent", {{"why", std::strerror(errno)}});
  }
  if (process_ != 0) return;
  // Signals that end the adapter come to it, too, and are for the adapter.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent || ::close_range(3, ~0U, 0) != 0) ::_exit(0);
  run();
}

void SlurmOutput::run() const noexcept {
  wire::ClientOptions options = client_;
  options.timeout_ms = kAnswerLimit_ms;
  wire::Client client(url_, options);
  slurm::OutputFiles files;
  Sent sent;
  std::chrono::seconds pause = kPauseMin;
  for (std::string trouble;;) {
    // What is being read is sent as soon as it is there, and is not waited for alone.
    const bool reads = files.is_reading();
    const std::int64_t asked_us = telemetry::monotonic_us();
    const std::string target =
        fmt::format("{}?wait_s={}{}", target_, reads ? 0 : kWait_s, sent.query);
    const Result<wire::Response> answer =
        client.call("POST", target, sent.body, {{"Content-Type", "application/octet-stream"}});
    sent = {};
    std::string now;
    bool is_idle = false;
    if (!answer.ok()) {
      now = answer.error().message;
    } else if (answer->status >= 300) {
      now = fmt::format("the controller answers {}", answer->status);
    } else if (const auto wanted = slurm::read_part_wanted(answer->body); !wanted.ok()) {
      now = wanted.error().message;
    } else if (*wanted) {
      files.begin(**wanted);
    } else {
      is_idle = !reads;
    }
    if (!now.empty() && now != trouble) {
      telemetry::log(telemetry::Level::kWarning, "output_not_sent", {{"why", now}});
    }
    trouble = now;
    pause = now.empty() ? kPauseMin : std::min(pause * 2, kPauseMax);
    // Another adapter of the same name may ask, too: each sends the other away.
    const std::chrono::microseconds took(telemetry::monotonic_us() - asked_us);
    if (!now.empty() || (is_idle && took < kPauseMin)) std::this_thread::sleep_for(pause);
    if (std::optional<slurm::PartDone> done = files.next(kAskAgain)) {
      sent = sent_of(std::move(*done));
    }
  }
}

}  // namespace dove::programs
