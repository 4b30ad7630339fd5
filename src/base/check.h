// CHECK ends the process when our own reasoning was wrong; it stays on in release builds.
//
// For failures of the world use Result (base/result.h).
#pragma once

namespace dove {

// Prints "file:line: CHECK(condition): message" to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* message);

}  // namespace dove

// CHECK(condition, "what must hold")
#define CHECK(condition, message)                                    \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::dove::check_failed(__FILE__, __LINE__, #condition, message); \
  } while (false)
