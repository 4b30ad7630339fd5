// The handshakes that turn a plain Stream into an encrypted one. For the files of wire/ alone; loop
// thread only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/stream.h"
#include "wire/tls/tls.h"

namespace dove::wire {

// Dropping it abandons the handshake: the callback is not called, the connection is closed.
using Handshake = std::shared_ptr<void>;

// As the client. `host` is the name or address that the certificate must be for. `where` is for
// messages. With `offers_http2` the server may choose that (Stream::speaks_http2). Errors, all
// kUnavailable with the remedy in the message: certificate_expired, certificate_not_yet_valid,
// certificate_wrong_name, certificate_untrusted, certificate_refused (ours, by the server; or its
// URI's, see Tls::let_in), not_tls, handshake_failed; kTimeout handshake_timeout.
[[nodiscard]] Handshake connect_tls(Loop& loop, std::unique_ptr<Stream> plain,
                                    std::shared_ptr<const Tls> tls, const std::string& host,
                                    const std::string& where, std::chrono::microseconds timeout,
                                    std::function<void(Result<std::unique_ptr<Stream>>)> done,
                                    bool offers_http2 = false);

// What a server does with a peer that connects; each is called once at most, before `done`.
struct Reception {
  // Bytes have come. Nothing is done with them until `take_up` is called, at once or within
  // `wait_most`. Unset: they are taken up at once.
  std::function<void(std::function<void()> take_up)> on_words = {};
  std::chrono::microseconds wait_most = std::chrono::seconds(120);
  // They were a hello, and it was answered.
  std::function<void()> on_hello = {};
};

// As the server. A peer that speaks plain HTTP is answered so, once, before it fails. `timeout` is
// for the first bytes, and again from when they are taken up.
[[nodiscard]] Handshake accept_tls(Loop& loop, std::unique_ptr<Stream> plain,
                                   std::shared_ptr<const Tls> tls,
                                   std::chrono::microseconds timeout,
                                   std::function<void(Result<std::unique_ptr<Stream>>)> done,
                                   Reception reception = {});

}  // namespace dove::wire
