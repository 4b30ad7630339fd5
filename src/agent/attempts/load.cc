// Attempts at the beginning of a life: what a former one left of them, and what they need of
// others.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/aside/linux_user.h"
#include "agent/attempts/attempt_record.h"
#include "agent/attempts/attempts.h"
#include "codec/json.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kOrder_bytes = std::size_t{64} << 20;
constexpr std::chrono::seconds kUsersWait{1};
constexpr std::chrono::microseconds kLookAgain{1'000'000};

std::optional<LaunchOrder> order_of(const AttemptOnDisk& found, const std::string& directory) {
  const Result<Json> line = codec::parse_json(found.order, kOrder_bytes);
  if (!line.ok()) return std::nullopt;
  Result<LaunchOrder> order = read_launch_order(*line, found.has_network);
  if (order.ok() && found.place) order->placement = *found.place;
  if (order.ok()) return std::move(order).value();
  telemetry::log(telemetry::Level::kError, "attempt_order_unreadable",
                 {{"directory", directory}, {"why", order.error().message}});
  return std::nullopt;
}

}  // namespace

// In two passes: the users of all attempts are looked up together, as a directory of users that
// does not answer would cost its time-out for each.
void Attempts::load() {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.data_dir + "/attempts", error)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  std::map<std::string, Left> left;
  std::set<std::string> users{""};
  for (const fs::path& path : found) {
    Left& one = left[path.string()];
    one.found = read_attempt(path.string());
    one.order = order_of(one.found, path.string());
    if (one.order) users.insert(one.order->linux_user);
  }
  if (!found.empty() || options_.keeps_records) look_up_users(users);
  for (auto& [directory, one] : left) load_one(directory, std::move(one));
  // Left by attempts that ended while no agent was there to remove them.
  sweep_secrets(facts_.secrets_place, [this](AttemptKey key) { return lives(key); });
}

// What runs is taken up without them, if nobody can tell in time.
void Attempts::look_up_users(const std::set<std::string>& users) {
  const bool in_time = side_.wait("users", kUsersWait, [users] {
    for (const std::string& user : users) (void)look_up_linux_user(user);  // those found are kept
  });
  if (in_time) return;
  telemetry::log(telemetry::Level::kWarning, "users_unknown",
                 {{"why", "the directory of users does not answer"}});
}

// The order is written before anything starts: without one, and without a task's file, nothing was
// started. With one that cannot be read (damaged, or another version's), what was started is ended.
void Attempts::load_one(const std::string& directory, Left left) {
  std::optional<LaunchOrder>& order = left.order;
  const std::optional<AttemptKey> key = read_key(fs::path(directory).filename().string());
  std::error_code error;
  const bool is_empty = left.found.order.empty() && !has_task_files(directory);
  if (!key.has_value() || is_empty) {
    telemetry::log(telemetry::Level::kWarning, "attempt_without_order", {{"directory", directory}});
    // What has another name is not ours to remove.
    if (key.has_value()) fs::remove_all(directory, error);
    return;
  }
  if (order && order->key == *key) return hold(*std::move(order)).resume(left.found);
  telemetry::log(telemetry::Level::kError, "attempt_order_unreadable", {{"directory", directory}});
  // Held under the directory's name, with an order that says nothing: the tasks' own files say
  // what runs, and the controller hears of its end, which is none of the job's own making.
  LaunchOrder unknown;
  unknown.key = *key;
  ActiveAttempt& attempt = hold(std::move(unknown));
  attempt.resume(left.found);
  attempt.leave();
  attempt.stop();
}

// A look at users and file systems that may not answer, on the attempt's own side thread.
void Attempts::meet(AttemptKey key, Needs needs, std::function<void(Result<void>)> done) {
  const std::chrono::microseconds limit = options_.needs_limit;
  look_at({key, std::move(needs), std::move(done), loop_.monotonic_us() + limit.count()});
}

void Attempts::look_at(Unmet one) {
  const auto met = std::make_shared<Result<void>>();
  const std::int64_t left_us = std::max<std::int64_t>(one.until_us - loop_.monotonic_us(), 1'000);
  side_.run(
      one.key.text(), std::chrono::milliseconds(left_us / 1'000),
      [met, needs = one.needs] { *met = agent::meet(needs); },
      [this, met, one](bool in_time) {
        if (in_time && (met->ok() || met->error().code != kUsers_away)) {
          return one.done(std::move(*met));
        }
        if (in_time && loop_.monotonic_us() < one.until_us && lives(one.key)) {
          Unmet again = one;
          again.away = met->error();
          return look_again_later(std::move(again));
        }
        if (in_time || one.away) return one.done(in_time ? met->error() : *one.away);
        one.done(
            Error{ErrorKind::kTimeout, "no_answer",
                  fmt::format("node {} did not get an answer within {} s from its directory of "
                              "users ({}), from {} or from the directory of checkpoints; look at "
                              "its mounts",
                              facts_.node, options_.needs_limit.count() / 1000,
                              one.needs.linux_user.empty() ? "its own user" : one.needs.linux_user,
                              one.needs.workdir.empty() ? "its images" : one.needs.workdir),
                  ""});
      });
}

// Whoever is not there now may be once their service is.
void Attempts::look_again_later(Unmet one) {
  if (unmet_.empty()) {
    const std::chrono::microseconds limit = options_.needs_limit;
    unmet_timer_ = loop_.after(std::min(limit / 4, kLookAgain), [this] {
      for (Unmet& each : std::exchange(unmet_, {})) look_at(std::move(each));
    });
  }
  unmet_.push_back(std::move(one));
}

}  // namespace dove::agent
