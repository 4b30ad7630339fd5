// Errand: code that waits for its answers, run beside an exploration that never waits.
//
// It has a thread of its own, and the two take turns: the errand runs until it asks something or
// ends, the exploration goes on in virtual time, and the errand gets its answer. Never do both run,
// so that equal explorations are equal.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"
#include "wire/http.h"

namespace dove::sim {

class Errand {
 public:
  using Answer = Result<wire::Response>;

  Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  // REQUIRES: it has not begun, or is over.
  ~Errand();

  // Both return when it asks (true: see question()) or is over. REQUIRES: begin() once, answer()
  // while it asks.
  bool begin(std::function<void()> work);
  bool answer(Answer answer);
  const wire::Request& question() const { return question_; }

  // On the errand's own thread.
  Answer ask(wire::Request question);

 private:
  bool go_on();
  void wait_for_turn(bool mine);

  std::mutex mutex_;
  std::condition_variable turned_;
  bool runs_ = false;  // whose turn it is: the errand's, or the exploration's
  bool is_over_ = false;
  wire::Request question_;
  std::optional<Answer> answer_;
  std::thread thread_;
};

}  // namespace dove::sim
