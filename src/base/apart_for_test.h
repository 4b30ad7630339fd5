// apart: what a function says that may crash, for tests of damaged data.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <string>

namespace dove {

// In a process of its own: a CHECK that fails is damage taken, too.
inline std::string apart(const std::function<std::string()>& verdict) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = verdict();
    (void)!::write(ends[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  char text[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], text, sizeof text)) > 0;) {
    said.append(text, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? said : "it crashed: " + said;
}

}  // namespace dove
