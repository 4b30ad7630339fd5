#include "wire/tls/plain_words.h"

#include <fmt/format.h>

#include "wire/http.h"

namespace dove::wire {

std::string speak_tls() {
  const Response answer =
      problem(Error{ErrorKind::kInvalid, "speak_tls",
                    "this port speaks TLS alone: write https:// in place of http://", ""});
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Length: {}\r\n",
                                 answer.status, reason_phrase(answer.status), answer.body.size());
  for (const auto& [name, value] : answer.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\n" + answer.body;
}

// A handshake's first record is 0x16; letters begin a request of HTTP.
bool spoke_plainly(std::string_view first) {
  return !first.empty() && first.front() >= 'A' && first.front() <= 'Z';
}

}  // namespace dove::wire
