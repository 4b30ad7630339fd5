#include "cli/commands/list_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"

namespace dove::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kHeld_s = 10;
// A server that holds lists gathers changes for 100 ms before it answers.
constexpr milliseconds kHeldAtLeast{90};
constexpr milliseconds kAgain{2000};
constexpr milliseconds kPause{500};
constexpr int kDrawing = 5;  // the pause lasts at least this many times as long as the drawing
constexpr milliseconds kKeys{100};

milliseconds since(Clock::time_point begun) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - begun);
}

// The list, held by the server until it has changed. Asked in a thread of its own, as the person at
// the terminal may end all at any time.
class HeldList {
 public:
  HeldList(const Endpoint& endpoint, const std::string& list, const json& seen) {
    std::string target = list;
    if (seen.is_number()) target += fmt::format("&since={}&wait_s={}", seen.dump(), kHeld_s);
    thread_ = std::thread([this, endpoint, target] {
      const Clock::time_point begun = Clock::now();
      Api own(endpoint);
      const Result<json> answer = own.get(target);
      answered_ = {answer.ok(), since(begun)};
      if (answer.ok() && answer->is_object()) head_ = answer->value("log_head", json());
      is_over_ = true;
    });
  }
  ~HeldList() { thread_.join(); }
  HeldList(const HeldList&) = delete;
  HeldList& operator=(const HeldList&) = delete;

  bool is_over() const { return is_over_; }
  // REQUIRES: is_over().
  const Answered& answered() const { return answered_; }
  const json& head() const { return head_; }

 private:
  Answered answered_;
  json head_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;  // last: it uses the others
};

// True: q was typed.
bool waits_for_key(KeyReader& keys, milliseconds left) {
  while (left.count() > 0) {
    const milliseconds now = std::min(left, kKeys);
    if (keys.key(static_cast<int>(now.count())) == 'q') return true;
    left -= now;
  }
  return false;
}

}  // namespace

milliseconds pause_of(const Answered& answered, milliseconds drawing) {
  const bool was_held = answered.ok && answered.took >= kHeldAtLeast;
  return std::max({was_held ? kPause : kAgain, drawing * kDrawing});
}

Result<int> redraw(const Invocation& invocation, Api& api, const std::string& list,
                   const std::function<Result<int>()>& render) {
  if (!invocation.has("watch") || !invocation.get("watch").empty()) {
    return repeat(invocation, render);
  }
  std::optional<KeyReader> keys(std::in_place);
  const Result<json> first = api.get(list);
  json seen = first.ok() && first->is_object() ? first->value("log_head", json()) : json();
  while (true) {
    const Clock::time_point begun = Clock::now();
    if (stdout_is_terminal()) print("\x1b[H\x1b[2J");
    TRY_ASSIGN(const int code, render());
    if (std::fflush(stdout) != 0) return code;
    const milliseconds drawing = since(begun);
    const Clock::time_point drawn = Clock::now();
    HeldList held(api.endpoint(), list, seen);
    while (!held.is_over()) {
      if (!waits_for_key(*keys, kKeys)) continue;
      keys.reset();  // the terminal is as it was
      _exit(code);   // the call that is held would keep the process for seconds
    }
    seen = held.head();
    if (waits_for_key(*keys, pause_of(held.answered(), drawing) - since(drawn))) return code;
  }
}

}  // namespace dove::cli
