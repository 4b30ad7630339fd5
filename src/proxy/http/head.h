// Heads of HTTP/1.1 messages as the proxy reads them: strictly, so that it and the app see the same
// end of each message, and without a copy.
//
// Pure; bytes come from outside, so everything here may be hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::proxy {

inline constexpr std::size_t kHeadBytesMax = 32 << 10;
inline constexpr std::size_t kHeadersMax = 200;

struct Field {
  std::string_view name;
  std::string_view value;  // without the spaces around it
};

// Views of the bytes that were read.
struct Head {
  std::string_view method;  // of a request
  std::string_view target;
  int status = 0;  // of an answer
  std::string_view reason;
  bool is_1_0 = false;
  std::vector<Field> fields;

  // The first of that name, in any case; empty when there is none.
  std::string_view find(std::string_view name) const;
  bool has(std::string_view name) const;
  // Whether `token` is in a list with commas, as in "Connection: keep-alive, Upgrade".
  bool lists(std::string_view name, std::string_view token) const;
};

// Where a message's body ends.
struct Framing {
  enum class Kind : std::uint8_t { kNone, kLength, kChunked, kUntilEnd } kind = Kind::kNone;
  std::uint64_t length = 0;
};

bool same_word(std::string_view a, std::string_view b);

// Bytes of the head with its empty line, once it is complete; npos before.
std::size_t head_end(std::string_view bytes, std::size_t from = 0);

// `bytes`: a whole head with its empty line. Errors, all kInvalid malformed_request: what is not
// exactly HTTP/1.1, two Hosts, a body whose end is in doubt; http_version; kTooLarge
// headers_too_large (too many).
Result<Head> read_request_head(std::string_view bytes);
Result<Framing> framing_of_request(const Head& head);

// Error kInvalid malformed_response.
Result<Head> read_response_head(std::string_view bytes);
Result<Framing> framing_of_response(const Head& head, bool to_head);

// Follows a body as it passes.
class BodyEnd {
 public:
  explicit BodyEnd(Framing framing = {}) : framing_(framing), left_(framing.length) {
    done_ = framing.kind == Framing::Kind::kNone ||
            (framing.kind == Framing::Kind::kLength && framing.length == 0);
  }

  // How many of `bytes` belong to the body; what is behind its end does not. All do when it ends
  // with the connection.
  std::size_t feed(std::string_view bytes);
  bool done() const { return done_; }
  bool broken() const { return broken_; }  // chunks that are none
  bool ends_with_connection() const { return framing_.kind == Framing::Kind::kUntilEnd; }

 private:
  enum class At : std::uint8_t { kSize, kExtension, kSizeEnd, kData, kDataEnd, kDataLf, kTrailer };
  std::size_t feed_chunks(std::string_view bytes);
  bool step(char c);

  Framing framing_;
  std::uint64_t left_ = 0;
  At at_ = At::kSize;
  std::uint32_t line_ = 0;  // bytes of the present line
  std::uint32_t trailer_ = 0;
  bool has_digit_ = false;
  bool done_ = false;
  bool broken_ = false;
};

}  // namespace dove::proxy
