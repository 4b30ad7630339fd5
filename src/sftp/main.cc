// dove-sftp: a server of SFTP on standard input and output, for tasks whose image has none.
//
//     dove-sftp      (run in a task's world as `dove exec` would; ssh/session_channel.h)
//
// Static, so that it runs in any image. It has the task's rights and no others, keeps nothing, and
// ends with its input.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "sftp/packet.h"
#include "sftp/requests.h"

namespace dove::sftp {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kFlushBytes = 256 << 10;

bool write_all(std::string& bytes) {
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  bytes.clear();
  return true;
}

// Answers the whole packets among `held`, and drops them. False: there is nothing more to do.
bool answer_all(std::string& held, Requests& requests, Writer& out) {
  std::string_view left = held;
  while (left.size() >= 4) {
    const std::uint32_t size = Reader(left).number32();
    if (size > kPacketBytesMax || size == 0) return false;
    if (left.size() - 4 < size) break;
    if (!requests.answer(left.substr(4, size), out)) return false;
    left.remove_prefix(4 + size);
    if (out.bytes().size() >= kFlushBytes && !write_all(out.bytes())) return false;
  }
  held.erase(0, held.size() - left.size());
  return write_all(out.bytes());
}

int run() {
  ::signal(SIGPIPE, SIG_IGN);
  std::string held;
  Requests requests;
  Writer out;
  for (;;) {
    const std::size_t before = held.size();
    held.resize(before + kReadBytes);
    const ssize_t count = ::read(STDIN_FILENO, held.data() + before, kReadBytes);
    held.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return held.empty() ? 0 : 1;
    if (count < 0 || !answer_all(held, requests, out)) return 1;
  }
}

}  // namespace
}  // namespace dove::sftp

int main() { return dove::sftp::run(); }
