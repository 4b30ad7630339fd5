// Backlog: the bytes that wait for one party's peers, at all of its connections. Their memory is
// held until the peers take them.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/result.h"
#include "wire/server_limits.h"

namespace dove::wire {

// Loop thread only.
class Backlog {
 public:
  explicit Backlog(std::size_t most) : most_(most) {}

  std::size_t bytes() const { return bytes_; }
  // What is added meanwhile is refused. What is there may be more than `most`, by one answer.
  bool is_full() const { return bytes_ >= most_; }

 private:
  friend class BacklogPart;
  const std::size_t most_;
  std::size_t bytes_ = 0;
};

// What one answer has of it, until it dies.
class BacklogPart {
 public:
  BacklogPart() = default;
  ~BacklogPart() { leave(); }
  BacklogPart(const BacklogPart&) = delete;
  BacklogPart& operator=(const BacklogPart&) = delete;

  void enter(std::shared_ptr<Backlog> backlog) {
    leave();
    backlog_ = std::move(backlog);
  }
  void leave() {
    set(0);
    backlog_.reset();
  }
  void set(std::size_t bytes) {
    if (backlog_ == nullptr) return;
    backlog_->bytes_ += bytes;
    backlog_->bytes_ -= std::exchange(bytes_, bytes);
  }
  bool is_full() const { return backlog_ != nullptr && backlog_->is_full(); }

 private:
  std::shared_ptr<Backlog> backlog_;
  std::size_t bytes_ = 0;
};

inline Error too_much_unread() {
  return {ErrorKind::kUnavailable,
          kRateLimited,
          "answers to you wait that nobody reads; read them, or close their connections, and try "
          "again later",
          {}};
}

}  // namespace dove::wire
