#include "proxy/http/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace dove::proxy {
namespace {

Error malformed(std::string what, const char* field = "") {
  return Error{ErrorKind::kInvalid, "malformed_request", std::move(what), field};
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// RFC 9110, 5.6.2.
bool is_token_char(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_value_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

bool is_target(std::string_view text) {
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
         });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The line before the next CRLF, which is cut off; what a bare CR or LF is in fails later, as no
// character of a header.
std::string_view take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 2);
  return line;
}

Result<void> read_fields(std::string_view rest, Head& head) {
  head.fields.reserve(24);
  for (;;) {
    const std::string_view line = take_line(rest);
    if (line.empty()) return {};
    if (head.fields.size() >= kHeadersMax) {
      return Error{ErrorKind::kTooLarge, "headers_too_large",
                   fmt::format("a request has at most {} headers", kHeadersMax), ""};
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
      return malformed("a line of the head is no header");
    }
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!std::all_of(value.begin(), value.end(), is_value_char)) {
      return malformed("a header has a control character in it");
    }
    head.fields.push_back({line.substr(0, colon), value});
  }
}

std::size_t count(const Head& head, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(head.fields.begin(), head.fields.end(),
                    [&](const Field& field) { return same_word(field.name, name); }));
}

// The same for both kinds of message. A body that says its end twice could be two to two readers.
Result<Framing> framing_of(const Head& head) {
  Framing framing;
  const std::size_t codings = count(head, "transfer-encoding");
  const std::size_t lengths = count(head, "content-length");
  if (codings + lengths == 0) return framing;
  if (codings + lengths > 1) {
    return malformed("Content-Length and Transfer-Encoding: give one of them, once");
  }
  if (codings == 1) {
    if (!same_word(head.find("transfer-encoding"), "chunked")) {
      return malformed("Transfer-Encoding must be 'chunked' or absent", "Transfer-Encoding");
    }
    framing.kind = Framing::Kind::kChunked;
    return framing;
  }
  const std::string_view text = head.find("content-length");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), framing.length);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return malformed("Content-Length is no number of bytes", "Content-Length");
  }
  framing.kind = Framing::Kind::kLength;
  return framing;
}

Error no_answer(const char* what) {
  return Error{ErrorKind::kInvalid, "malformed_response", what, ""};
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Head::find(std::string_view name) const {
  for (const Field& field : fields) {
    if (same_word(field.name, name)) return field.value;
  }
  return {};
}

bool Head::has(std::string_view name) const {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return same_word(field.name, name); });
}

bool Head::lists(std::string_view name, std::string_view token) const {
  for (const Field& field : fields) {
    if (!same_word(field.name, name)) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t end = rest.find(',');
      if (same_word(trimmed(rest.substr(0, end)), token)) return true;
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  return false;
}

std::size_t head_end(std::string_view bytes, std::size_t from) {
  const std::size_t at = bytes.find("\r\n\r\n", from < 3 ? 0 : from - 3);
  return at == std::string_view::npos ? at : at + 4;
}

Result<Head> read_request_head(std::string_view bytes) {
  Head head;
  const std::string_view line = take_line(bytes);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return malformed("no request line");
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1") {
    return Error{ErrorKind::kInvalid, "http_version", "this speaks HTTP/1.1", ""};
  }
  if (!is_token(head.method) || head.method == "CONNECT") return malformed("no method");
  const bool is_all = head.target == "*" && head.method == "OPTIONS";
  if (!is_all && !is_target(head.target)) return malformed("the target is a path");
  TRY(read_fields(bytes, head));
  if (count(head, "host") != 1) return malformed("a request has one Host header", "Host");
  return head;
}

Result<Framing> framing_of_request(const Head& head) { return framing_of(head); }

Result<Head> read_response_head(std::string_view bytes) {
  Head head;
  const std::string_view line = take_line(bytes);
  if (!line.starts_with("HTTP/1.1 ") && !line.starts_with("HTTP/1.0 ")) {
    return no_answer("it does not speak HTTP");
  }
  head.is_1_0 = line[7] == '0';
  const std::string_view code = line.substr(9, 3);
  const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), head.status);
  if (error != std::errc() || end != code.data() + 3 || head.status < 100) {
    return no_answer("its answer has no status");
  }
  head.reason = trimmed(line.substr(std::min<std::size_t>(12, line.size())));
  if (!std::all_of(head.reason.begin(), head.reason.end(), is_value_char)) head.reason = {};
  if (const Result<void> read = read_fields(bytes, head); !read.ok()) {
    return no_answer("its answer's head cannot be read");
  }
  return head;
}

Result<Framing> framing_of_response(const Head& head, bool to_head) {
  Framing framing;
  if (to_head || head.status < 200 || head.status == 204 || head.status == 304) return framing;
  const Result<Framing> given = framing_of(head);
  if (!given.ok()) return no_answer("where its answer ends is in doubt");
  framing = *given;
  if (framing.kind == Framing::Kind::kNone) framing.kind = Framing::Kind::kUntilEnd;
  return framing;
}

std::size_t BodyEnd::feed(std::string_view bytes) {
  if (done_ || broken_) return 0;
  switch (framing_.kind) {
    case Framing::Kind::kNone:
      return 0;
    case Framing::Kind::kUntilEnd:
      return bytes.size();
    case Framing::Kind::kLength: {
      const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      left_ -= taken;
      done_ = left_ == 0;
      return taken;
    }
    case Framing::Kind::kChunked:
      return feed_chunks(bytes);
  }
  return 0;
}

std::size_t BodyEnd::feed_chunks(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && !done_) {
    if (at_ == At::kData) {
      const auto taken =
          static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - at));
      left_ -= taken;
      at += taken;
      if (left_ == 0) at_ = At::kDataEnd;
      continue;
    }
    if (!step(bytes[at++])) {
      broken_ = true;
      return at;
    }
  }
  return at;
}

// One byte of a line between data. False: that is no chunked body.
bool BodyEnd::step(char c) {
  constexpr std::uint32_t kLineMax = 256;
  constexpr std::uint32_t kTrailerMax = 8 << 10;
  switch (at_) {
    case At::kSize: {
      const char low = lower(c);
      const bool is_digit = (low >= '0' && low <= '9') || (low >= 'a' && low <= 'f');
      if (is_digit) {
        if (++line_ > 15) return false;
        left_ = left_ * 16 + static_cast<std::uint64_t>(low <= '9' ? low - '0' : low - 'a' + 10);
        has_digit_ = true;
        return true;
      }
      at_ = c == '\r' ? At::kSizeEnd : At::kExtension;
      return has_digit_ && (c == '\r' || c == ';' || c == ' ');
    }
    case At::kExtension:
      if (c == '\r') at_ = At::kSizeEnd;
      return (c == '\r' || is_value_char(c)) && ++line_ <= kLineMax;
    case At::kSizeEnd:
      at_ = left_ == 0 ? At::kTrailer : At::kData;
      line_ = 0;
      has_digit_ = false;
      return c == '\n';
    case At::kData:
      return false;
    case At::kDataEnd:
      at_ = At::kDataLf;
      return c == '\r';
    case At::kDataLf:
      at_ = At::kSize;
      left_ = 0;
      return c == '\n';
    case At::kTrailer:
      if (++trailer_ > kTrailerMax) return false;
      if (c == '\n') {
        if (!has_digit_) return false;  // a bare line end
        done_ = line_ == 0;
        line_ = 0;
        has_digit_ = false;
        return true;
      }
      if (has_digit_) return false;  // behind '\r' comes '\n'
      has_digit_ = c == '\r';
      if (!has_digit_) ++line_;
      return has_digit_ || is_value_char(c);
  }
  return false;
}

}  // namespace dove::proxy
