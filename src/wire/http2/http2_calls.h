// Http2Calls is one connection of HTTP/2 to a server: requests and their answers, side by side.
//
// For the clients of wire/ alone; loop thread only. It is open as long as anybody holds it: its
// client, or the receiver of an answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "wire/address.h"
#include "wire/http2/http2_link.h"

namespace dove::wire {

class Http2Calls final : public Http2LinkOwner, public std::enable_shared_from_this<Http2Calls> {
 public:
  enum class Ending {
    kWhole,
    kUntouched,  // the server did nothing about it
    kReset,      // the server broke off this one
    kBroken,     // the connection did
    kCertificateRefused,
    kMalformed,
  };
  // Any of them may cancel() and destroy whatever it likes.
  struct Hears {
    std::function<void(Response head)> on_head;  // no body
    std::function<void(std::string_view bytes)> on_body;
    std::function<void(Ending)> on_end;  // once; nothing follows
  };

  static std::shared_ptr<Http2Calls> begin(Loop& loop, std::unique_ptr<Stream> stream);
  ~Http2Calls() override;

  // Its number, for cancel(). REQUIRES: is_usable().
  std::int32_t ask(std::shared_ptr<const Request> request, const Address& to, Hears hears);
  // Nothing of it is heard any more.
  void cancel(std::int32_t id);
  // Whether it takes further requests.
  bool is_usable() const { return usable_; }
  // Whether a request that is waited for, however long, leaves enough of what the server takes at
  // once to all others.
  bool has_room() const;
  // The server has begun to answer something.
  bool is_proven() const { return proven_; }

  // From its link.
  void came() override {}
  void writes(int) override {}  // the read reports failures
  void over() override { fail_all(Ending::kMalformed); }
  void gone(int error) override;

 private:
  struct Call {
    std::shared_ptr<const Request> request;
    std::size_t sent = 0;  // of its body
    Hears hears;
    Response head;
    std::size_t head_bytes = 0;
    bool head_given = false;
  };

  // What the library calls; the last argument is the Http2Calls.
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t flags, void* user);
  static int on_data(nghttp2_session*, std::uint8_t flags, std::int32_t id,
                     const std::uint8_t* data, std::size_t size, void* user);
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_stream_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user);
  static ssize_t give_body(nghttp2_session*, std::int32_t id, std::uint8_t* to, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source*, void* user);

  Http2Session make_session();
  std::shared_ptr<Call> find(std::int32_t id) const;
  void give_head(Call& call);
  void end(std::int32_t id, Ending ending);
  void leave(std::int32_t last_taken);
  void fail_all(Ending ending);

  std::shared_ptr<Http2Link> link_;
  std::map<std::int32_t, std::shared_ptr<Call>> calls_;
  bool usable_ = true;
  bool proven_ = false;
};

}  // namespace dove::wire
