// Http2Link: the bytes below a session of HTTP/2 (RFC 9113). It reads for the session, and sends
// the session's output.
//
// libnghttp2 handles the frames, their compression, and the windows. It reports what it finds to
// the owner of the link by the callbacks that the session was made with. All output that is queued
// in one turn of the loop leaves in one write. For the files of wire/http2/ alone; loop thread
// only.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http.h"
#include "wire/loop.h"
#include "wire/stream.h"
#include "wire/streams/read_room.h"

namespace dove::wire {

struct Http2Deleter {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};
using Http2Session = std::unique_ptr<nghttp2_session, Http2Deleter>;

// The requests that a peer may have open at once, at our servers: an agent has two or three, and
// those that are waited for, which leave kHttp2StreamsKept to all others.
inline constexpr std::uint32_t kHttp2StreamsMax = 32;
inline constexpr std::uint32_t kHttp2StreamsKept = 8;  // all that servers of former versions take

// Names as HTTP/2 has them, in lower case; what is of a connection of HTTP/1 is left out.
class Http2Fields {
 public:
  void add(std::string_view name, std::string_view value);
  // As the library takes them, which copies them; they point into this.
  std::vector<nghttp2_nv> list() const;

 private:
  Pairs fields_;
};

// Whether `name` is of a connection of HTTP/1, and has no place here.
bool is_of_http1(std::string_view name);

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

class Http2LinkOwner {
 public:
  virtual ~Http2LinkOwner() = default;
  // What was read has been given; more follows in a later turn.
  virtual void came() = 0;
  // The system is given bytes, some KiB; or it takes no more, and what came before that may be read
  // still.
  virtual void writes(int error) = 0;
  // Both ends have said all, or the session was broken off; what it said of that has left.
  virtual void over() = 0;
  // `error` is Stream's, or kMalformed. Nothing comes any more.
  virtual void gone(int error) = 0;
};

class Http2Link : public std::enable_shared_from_this<Http2Link> {
 public:
  static constexpr int kMalformed = -10;  // that was not HTTP/2

  // The owner, which closes the link before it dies, is what the session's callbacks get.
  Http2Link(Loop& loop, std::unique_ptr<Stream> stream, Http2Session session,
            std::weak_ptr<Http2LinkOwner> owner);

  void start();
  // In a later turn.
  void flush();
  // Whether bytes are on their way to the system.
  bool is_writing() const { return writing_; }
  // Nothing is written any more; what comes is not looked at.
  void linger();
  void close();

  nghttp2_session* session() const { return session_.get(); }
  Stream& stream() const { return *stream_; }

 private:
  void read();
  void on_read(int error, std::size_t bytes);
  void send();
  void write_more();
  void on_written(int error, std::size_t bytes);

  Loop& loop_;
  std::unique_ptr<Stream> stream_;
  const Http2Session session_;
  const std::weak_ptr<Http2LinkOwner> owner_;
  ReadRoom room_;
  std::string sending_;
  std::size_t sent_ = 0;
  bool writing_ = false;
  bool flush_posted_ = false;
  bool lingering_ = false;
  bool closed_ = false;
};

}  // namespace dove::wire
