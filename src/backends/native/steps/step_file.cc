#include "backends/native/steps/step_file.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kBytesMax = std::int64_t{64} << 20;
constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

std::string line_of(JobId job, AttemptNumber attempt, const StepRecord& step) {
  return codec::dump_json(Json{{"job", job.value},
                               {"attempt", attempt},
                               {"number", step.number},
                               {"name", step.name},
                               {"nodes", step.nodes},
                               {"tasks", step.tasks},
                               {"cores", step.cores},
                               {"started_at_us", step.started_at_us},
                               {"ended_at_us", step.ended_at_us},
                               {"exit_code", step.exit_code},
                               {"signal", step.signal}}) +
         "\n";
}

}  // namespace

StepFile::StepFile(std::string path, StepBook& book) : path_(std::move(path)), book_(book) {
  restore();
  compact();
  book_.keep([this](JobId job, AttemptNumber attempt, const StepRecord& step) {
    add(job, attempt, step);
  });
}

// A line that was cut by a crash, or that another version wrote, is passed over.
void StepFile::restore() {
  std::ifstream in(path_);
  for (std::string line; std::getline(in, line);) {
    const Result<Json> read = codec::parse_json(line, kLineBytesMax);
    if (!read.ok()) continue;
    try {
      StepRecord step;
      step.number = read->at("number").get<std::int32_t>();
      step.name = read->at("name").get<std::string>();
      step.nodes = read->at("nodes").get<std::vector<std::string>>();
      step.tasks = read->at("tasks").get<std::int64_t>();
      step.cores = read->at("cores").get<std::int64_t>();
      step.started_at_us = read->at("started_at_us").get<std::int64_t>();
      step.ended_at_us = read->at("ended_at_us").get<std::int64_t>();
      step.exit_code = read->at("exit_code").get<std::int32_t>();
      step.signal = read->at("signal").get<std::int32_t>();
      book_.began(JobId{read->at("job").get<std::uint64_t>()},
                  read->at("attempt").get<AttemptNumber>(), std::move(step));
    } catch (const Json::exception&) {
      continue;
    }
  }
}

void StepFile::compact() {
  file_.close();
  std::string text;
  book_.for_each([&](JobId job, AttemptNumber attempt, const StepRecord& step) {
    text += line_of(job, attempt, step);
  });
  bytes_ = static_cast<std::int64_t>(text.size());
  (void)files::write_atomically(path_, text, 0600);  // else the longer file stays
  file_.clear();
  file_.open(path_, std::ios::app);
}

void StepFile::add(JobId job, AttemptNumber attempt, const StepRecord& step) {
  const std::string line = line_of(job, attempt, step);
  bytes_ += static_cast<std::int64_t>(line.size());
  errno = 0;
  file_ << line << std::flush;
  if (file_) {
    failed_ = false;
  } else {
    if (!failed_) {
      telemetry::log(telemetry::Level::kWarning, "steps_not_kept",
                     {{"path", path_}, {"why", std::strerror(errno)}});
    }
    failed_ = true;
    file_.clear();
  }
  // What the book keeps may alone be as much: then it doubles before it is written again.
  if (bytes_ > kBytesMax * doublings_) {
    compact();
    doublings_ = bytes_ > kBytesMax / 2 ? doublings_ * 2 : 1;
  }
}

}  // namespace dove::backends
