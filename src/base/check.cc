#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace dove {

void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "%s:%d: CHECK(%s): %s\n", file, line, condition, message);
  std::abort();
}

}  // namespace dove
