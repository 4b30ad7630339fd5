// Result<T> carries either a value or the Error that prevented it; TRY passes the error up.
//
// It is for failures of the world (a full disk, a bad file, a refused request). Failures of our own
// reasoning are CHECKs (base/check.h). Library exceptions become Results in the file that calls the
// library. g++ 12 has no std::expected under -std=c++20.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace dove {

// What kind of failure, as a caller would tell them apart. Each maps to one HTTP status and one
// exit code of the command line.
enum class ErrorKind {
  kInvalid,   // the input is wrong; `field` says where
  kNotFound,  // what was named does not exist
  kConflict,  // it exists, but its state forbids this
  kDenied,    // known caller, no permission
  kUnauthenticated,
  kTooLarge,     // over a stated limit of size
  kExhausted,    // a resource of the service is used up (disk, connections)
  kUnavailable,  // try again later
  kTimeout,
  kCorrupt,   // stored data is damaged
  kInternal,  // a library or the system failed in a way nobody planned for
};

// `code` is stable and for machines (snake_case, "unknown_field"); `message` says in a sentence
// what is wrong and what to do next; `field` names the place ("groups[0].cores", "job.sh:3:9"), or
// is empty.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string code;
  std::string message;
  std::string field;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // REQUIRES: ok().
  T& value() & {
    CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok(), "value() of a failed Result");
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // REQUIRES: !ok().
  const Error& error() const {
    CHECK(!ok(), "error() of a Result that succeeded");
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    CHECK(!ok(), "error() of a Result that succeeded");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace dove

#define DOVE_JOIN_(a, b) a##b
#define DOVE_JOIN(a, b) DOVE_JOIN_(a, b)

// TRY(expression): returns the error of `expression` from the enclosing function, if it has one.
#define TRY(...)                                       \
  do {                                                 \
    auto try_result_ = (__VA_ARGS__);                  \
    if (!try_result_.ok()) return try_result_.error(); \
  } while (false)

// TRY_ASSIGN(auto x, expression): declares (or assigns) x from the value, or returns the error.
#define TRY_ASSIGN(target, ...) TRY_ASSIGN_(DOVE_JOIN(try_value_, __LINE__), target, __VA_ARGS__)
#define TRY_ASSIGN_(name, target, ...) \
  auto name = (__VA_ARGS__);           \
  if (!name.ok()) return name.error(); \
  target = std::move(name).value()
