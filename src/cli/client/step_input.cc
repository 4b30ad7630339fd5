#include "cli/client/step_input.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

constexpr std::size_t kPiece_bytes = 64 << 10;
constexpr int kLook_ms = 100;  // whether to stop
constexpr std::chrono::milliseconds kBetweenTries{100};

}  // namespace

bool has_input() {
  struct stat facts {};
  if (fstat(STDIN_FILENO, &facts) != 0) return false;
  return !S_ISCHR(facts.st_mode) || facts.st_rdev != makedev(1, 3);
}

StepInput::StepInput(Endpoint endpoint, std::string job, std::int64_t step)
    : endpoint_(std::move(endpoint)),
      target_(job_target(job, fmt::format("/steps/{}/input", step))),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void StepInput::run(const std::stop_token& stop) {
  std::string piece(kPiece_bytes, '\0');
  while (!stop.stop_requested()) {
    pollfd what{STDIN_FILENO, POLLIN, 0};
    if (poll(&what, 1, kLook_ms) == 0) continue;
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      send("", /*end=*/true, stop);
      return;
    }
    if (!send(piece.substr(0, static_cast<std::size_t>(got)), /*end=*/false, stop)) return;
  }
}

bool StepInput::send(std::string bytes, bool end, const std::stop_token& stop) {
  Api api(endpoint_);
  do {
    const std::string query = fmt::format("?offset={}{}", offset_, end ? "&end=1" : "");
    const Result<nlohmann::json> answer = api.send_bytes(target_ + query, bytes);
    if (!answer.ok()) {
      // Until the step's end is heard, its server may just be another one that will know of it.
      const ErrorKind kind = answer.error().kind;
      if (stop.stop_requested()) return false;
      if (kind != ErrorKind::kNotFound && kind != ErrorKind::kUnavailable) {
        say("standard input: " + answer.error().message);
        return false;
      }
      std::this_thread::sleep_for(kBetweenTries);
      continue;
    }
    const std::int64_t taken = number_of(*answer, "taken") - offset_;
    if (taken > 0) bytes.erase(0, static_cast<std::size_t>(taken));
    if (taken > 0) offset_ += taken;
    if (bytes.empty()) return true;
  } while (!stop.stop_requested());
  return false;
}

}  // namespace dove::cli
