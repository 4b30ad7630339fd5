#include "cli/client/job_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/client/api.h"
#include "cli/terminal/output.h"
#include "codec/json.h"

namespace dove::cli {
namespace {

constexpr std::chrono::seconds kAgain{1};
constexpr std::size_t kLineMax = 1 << 20;

}  // namespace

JobWatch::JobWatch(wire::Loop& loop, const TaskLink& link, std::string job,
                   std::function<void(const std::string&)> over)
    : loop_(loop),
      link_(link),
      job_(std::move(job)),
      over_(std::move(over)),
      client_(loop, link.address()) {}

void JobWatch::begin() {
  wire::StreamCallbacks callbacks;
  callbacks.on_open = [this](int status) { status_ = status; };
  callbacks.on_line = [this](std::string_view line) { hear(line); };
  callbacks.on_closed = [this](const Error&) { again_ = loop_.after(kAgain, [this] { begin(); }); };
  stream_ = client_.open_stream(link_.request(job_target(job_, "/wait?until=settled")),
                                std::move(callbacks));
}

// Blank lines say that it goes on.
void JobWatch::hear(std::string_view line) {
  if (line.empty() || status_ != 200) return;
  const Result<nlohmann::json> said = codec::parse_json(line, kLineMax);
  std::string state = "completed";
  if (said.ok()) {
    for (const nlohmann::json& job : list_of(*said, "not_completed")) state = text_of(job, "state");
  }
  over_(
      fmt::format("job {} no longer runs, it is {}; `dove show {}` says more", job_, state, job_));
}

}  // namespace dove::cli
