#include "agent/idle/use_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/result.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::int32_t kAll = 10'000;  // hundredths of a percent

std::optional<std::int32_t> hundredths(double part) {
  if (!std::isfinite(part) || part < 0) return std::nullopt;
  return static_cast<std::int32_t>(std::lround(std::min(part, 1.0) * kAll));
}

struct Reading {
  std::optional<std::int32_t> use;
  std::optional<std::int32_t> memory;
};

Reading reading_of(const devices::DeviceSample& sample) {
  Reading reading;
  if (const double* percent = sample.find(devices::Field::kUtilization)) {
    reading.use = hundredths(*percent / 100);
  }
  const double* used = sample.find(devices::Field::kMemoryUsed);
  const double* free = sample.find(devices::Field::kMemoryFree);
  if (used != nullptr && free != nullptr && *used + *free > 0) {
    reading.memory = hundredths(*used / (*used + *free));
  }
  return reading;
}

// The busiest of them: while one of its devices works, so does the job. One that says nothing may
// be the busiest.
std::optional<std::int32_t> busiest(const std::vector<UseWatch::Gpu>& gpus,
                                    const std::map<std::string, Reading>& readings,
                                    std::optional<std::int32_t> Reading::*what) {
  std::optional<std::int32_t> most;
  for (const UseWatch::Gpu& gpu : gpus) {
    const auto found = readings.find(gpu.uuid);
    if (found == readings.end() || !(found->second.*what)) return std::nullopt;
    most = std::max(most.value_or(0), *(found->second.*what));
  }
  return most;
}

}  // namespace

void UseWatch::Mean::add(std::optional<std::int32_t> value) {
  is_whole = is_whole && value.has_value();
  sum += value.value_or(0);
  ++count;
}

std::optional<std::int32_t> UseWatch::Mean::take() {
  const Mean now = std::exchange(*this, Mean{});
  if (now.count == 0 || !now.is_whole) return std::nullopt;
  return static_cast<std::int32_t>(now.sum / now.count);
}

void UseWatch::saw(const std::vector<devices::DeviceSample>& samples) {
  const std::vector<Attempt> all = host_.attempts();
  std::map<AttemptKey, Watched> still;
  for (const Attempt& attempt : all) {
    if (auto known = watched_.extract(attempt.key)) {
      still.insert(std::move(known));
    } else {
      still[attempt.key];
    }
  }
  watched_ = std::move(still);
  if (all.empty()) return;
  std::map<std::string, Reading> readings;
  for (const devices::DeviceSample& sample : samples) readings[sample.uuid] = reading_of(sample);
  for (const Attempt& attempt : all) {
    Watched& watched = watched_[attempt.key];
    if (!attempt.gpus.empty()) {
      watched.gpu.add(busiest(attempt.gpus, readings, &Reading::use));
      watched.gpu_memory.add(busiest(attempt.gpus, readings, &Reading::memory));
      for (const Gpu& gpu : attempt.gpus) watched.devices[gpu.device].add(readings[gpu.uuid].use);
    }
    ask(attempt);
  }
  count(all);
}

void UseWatch::ask(const Attempt& attempt) {
  Watched& watched = watched_[attempt.key];
  const bool answers = attempt.app && !attempt.app->activity.empty() && attempt.way;
  if (!answers || watched.is_asked) return;
  watched.is_asked = true;
  const auto word = std::make_shared<Result<AppWord>>(Error{});
  host_.aside(
      attempt.key.text() + ".app",
      [word, app = *attempt.app, way = *attempt.way] { *word = ask_app(app, way, kAppLimit); },
      [this, word, key = attempt.key, alive = std::weak_ptr<bool>(alive_)] {
        if (alive.expired()) return;
        const auto found = watched_.find(key);
        if (found == watched_.end()) return;
        found->second.is_asked = false;
        if (word->ok()) {
          found->second.word = **word;
        } else {
          telemetry::log(telemetry::Level::kDebug, "app_does_not_say",
                         {{"attempt", key.text()}, {"why", word->error().message}});
        }
      });
}

void UseWatch::count(const std::vector<Attempt>& all) {
  if (std::exchange(is_counting_, true)) return;
  const auto uses = std::make_shared<std::map<std::string, ProcessUse>>();
  std::vector<std::string> marks;
  for (const Attempt& attempt : all) marks.push_back(attempt.mark);
  host_.aside(
      "use", [uses, marks = std::move(marks)] { *uses = read_process_use(marks); },
      [this, uses, all, alive = std::weak_ptr<bool>(alive_)] {
        if (alive.expired()) return;
        is_counting_ = false;
        counted(all, *uses);
      });
}

void UseWatch::counted(const std::vector<Attempt>& all,
                       const std::map<std::string, ProcessUse>& uses) {
  const std::int64_t now_us = host_.monotonic_us();
  for (const Attempt& attempt : all) {
    const auto known = watched_.find(attempt.key);
    if (known == watched_.end()) continue;
    Watched& watched = known->second;
    const auto use = uses.find(attempt.mark);
    const bool is_first = watched.counted_us == 0;
    const ProcessUse* const now = use == uses.end() ? nullptr : &use->second;
    if (!is_first) host_.tell(report(attempt, watched, now, now_us));
    watched.before = now == nullptr ? std::nullopt : std::optional(*now);
    watched.counted_us = now_us;
  }
}

protocol::Use UseWatch::report(const Attempt& attempt, Watched& watched, const ProcessUse* use,
                               std::int64_t now_us) {
  protocol::Use said;
  said.key = attempt.key;
  said.span_us = std::max<std::int64_t>(now_us - watched.counted_us, 1);
  said.gpu = watched.gpu.take();
  said.gpu_memory = watched.gpu_memory.take();
  for (auto& [device, mean] : watched.devices) {
    if (const auto busy = mean.take()) said.devices.push_back({device, *busy});
  }
  // Time that went with processes nobody waited for makes the sum smaller: nothing is known then.
  if (use != nullptr && watched.before && use->cpu_us >= watched.before->cpu_us) {
    const double cores_us = static_cast<double>(said.span_us) * std::max(attempt.cores, 1);
    said.cpu = hundredths(static_cast<double>(use->cpu_us - watched.before->cpu_us) / cores_us);
    const std::int64_t in_terminals_us = use->terminal_us - watched.before->terminal_us;
    said.in_use = in_terminals_us >= said.span_us * kTerminalBusy / kAll;
  }
  if (const auto word = std::exchange(watched.word, std::nullopt)) {
    said.app_told = true;
    said.in_use = said.in_use || word->in_use;
    if (word->last_us > 0) {
      said.unused_us = std::max<std::int64_t>(host_.wall_us() - word->last_us, 0);
    }
  }
  return said;
}

}  // namespace dove::agent
