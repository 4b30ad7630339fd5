#include "wire/tls/tls_stream.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <utility>

#include "telemetry/log.h"
#include "wire/streams/read_room.h"
#include "wire/tls/plain_words.h"
#include "wire/tls/tls_state.h"

namespace dove::wire {
namespace {

constexpr std::size_t kReadLeast = 1 * 1024;         // most connections say little
constexpr std::size_t kReadBytes = 16 * 1024 + 512;  // a record
constexpr std::size_t kGreetingBytes = 64;           // of a peer that has said nothing yet
constexpr std::size_t kWriteBytes = 64 * 1024;       // taken at a time

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

// One encrypted connection. OpenSSL works on two buffers in memory; what it writes there goes out
// on the plain Stream, and what comes in there is given to it. Pending operations keep it alive.
class Session : public std::enable_shared_from_this<Session> {
 public:
  using Shaken = std::function<void(Result<std::unique_ptr<Stream>>)>;

  Session(Loop& loop, std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls,
          std::string host, std::string where, bool offers_http2)
      : loop_(loop),
        plain_(std::move(plain)),
        tls_(std::move(tls)),
        host_(std::move(host)),
        where_(std::move(where)),
        offers_http2_(offers_http2),
        incoming_(kGreetingBytes, kReadLeast, kReadBytes) {}

  void shake(std::chrono::microseconds timeout, Shaken done, Reception reception);
  void abandon() {
    if (!shaken_) return;  // it has succeeded or failed
    shaken_ = nullptr;
    timer_.cancel();
    close();
  }

  void read_some(char* data, std::size_t size, Stream::Done done);
  void write_some(std::string_view data, Stream::Done done);
  void end_writing();
  // What is pending ends in a later turn; the loop holds it then, and not this, which its owner
  // has.
  void close(bool resets = false) {
    closed_ = true;
    resets ? plain_->reset() : plain_->close();
    if (read_done_) {
      loop_.post([done = std::exchange(read_done_, nullptr)] { done(ECANCELED, 0); });
    }
    if (write_done_) {
      loop_.post([done = std::exchange(write_done_, nullptr)] { done(ECANCELED, 0); });
    }
  }
  bool peer_ended() { return plain_->peer_ended(); }
  std::string peer_address() const { return plain_->peer_address(); }
  std::string peer_identity() const { return peer_; }
  bool speaks_http2() const {
    const unsigned char* chosen = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
    return std::string_view(reinterpret_cast<const char*>(chosen), size) == "h2";
  }

 private:
  void begin();
  void end_within(std::chrono::microseconds time);
  void greet();
  void take_up(std::size_t bytes);
  void open();
  void listen();
  void break_off();
  bool set_expectations();
  void go_on();
  void succeed();
  void fail(Error error);
  Error why_failed();
  void answer_plainly();
  void receive(std::function<void(int error)> then);
  void say();
  void send_pending();
  void write_on();
  void try_read();
  void finish_read(int error, std::size_t bytes);
  void finish_write(int error);

  Loop& loop_;
  std::unique_ptr<Stream> plain_;
  const std::shared_ptr<const Tls> tls_;
  const std::string host_;
  const std::string where_;
  const bool offers_http2_;
  SslPtr ssl_;
  BIO* in_ = nullptr;   // owned by ssl_
  BIO* out_ = nullptr;  // owned by ssl_
  std::string peer_;
  Shaking found_;
  ReadRoom incoming_;
  std::string sending_;
  std::size_t sent_ = 0;
  bool waits_for_words_ = false;
  bool ending_ = false;
  bool closed_ = false;
  Shaken shaken_;
  Reception reception_;
  std::chrono::microseconds timeout_{0};
  Timer timer_;
  // The operations of the owner.
  char* read_to_ = nullptr;
  std::size_t read_size_ = 0;
  Stream::Done read_done_;
  std::size_t written_ = 0;
  Stream::Done write_done_;
};

class TlsStream final : public Stream {
 public:
  explicit TlsStream(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~TlsStream() override { session_->close(); }

  void read_some(char* data, std::size_t size, Done done) override {
    session_->read_some(data, size, std::move(done));
  }
  void write_some(std::string_view data, Done done) override {
    session_->write_some(data, std::move(done));
  }
  void end_writing() override { session_->end_writing(); }
  void close() override { session_->close(); }
  void reset() override { session_->close(/*resets=*/true); }
  bool peer_ended() override { return session_->peer_ended(); }
  std::string peer_address() const override { return session_->peer_address(); }
  std::string peer_identity() const override { return session_->peer_identity(); }
  bool speaks_http2() const override { return session_->speaks_http2(); }

 private:
  std::shared_ptr<Session> session_;
};

void Session::shake(std::chrono::microseconds timeout, Shaken done, Reception reception) {
  shaken_ = std::move(done);
  reception_ = std::move(reception);
  timeout_ = timeout;
  end_within(timeout);
  loop_.post([self = shared_from_this()] {
    if (self->shaken_) self->begin();
  });
}

void Session::end_within(std::chrono::microseconds time) {
  timer_ = loop_.after(time, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || !self->shaken_) return;
    self->fail(Error{
        ErrorKind::kTimeout, "handshake_timeout",
        fmt::format("{}: no TLS handshake in time; is it a dove server's port?", self->where_),
        ""});
  });
}

void Session::begin() {
  if (tls_->state().is_server) return greet();
  open();
  if (!set_expectations()) {
    return fail(Error{ErrorKind::kInvalid, "bad_url",
                      fmt::format("'{}' is neither a host's name nor an address", host_), ""});
  }
  go_on();
}

// A client speaks first. Whoever connects and says nothing, or waits for its turn, is given no
// memory: there may be thousands of them.
void Session::greet() {
  plain_->read_some(
      incoming_.data(), incoming_.size(), [self = shared_from_this()](int error, std::size_t n) {
        if (!self->shaken_) return;
        if (error != 0) return self->break_off();
        if (spoke_plainly({self->incoming_.data(), n})) return self->answer_plainly();
        if (!self->reception_.on_words) return self->take_up(n);
        self->end_within(self->reception_.wait_most);
        std::exchange(self->reception_.on_words, nullptr)([weak = self->weak_from_this(), n] {
          const auto held = weak.lock();
          if (held == nullptr || !held->shaken_) return;
          held->end_within(held->timeout_);
          held->take_up(n);
        });
      });
}

void Session::take_up(std::size_t bytes) {
  // Keys and signatures are dear, and nobody waits for these any more.
  if (plain_->peer_ended()) return break_off();
  open();
  BIO_write(in_, incoming_.data(), static_cast<int>(bytes));
  incoming_.came(bytes);
  go_on();
}

void Session::open() {
  ssl_.reset(SSL_new(tls_->state().context.get()));
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  CHECK(ssl_ != nullptr && in_ != nullptr && out_ != nullptr, "OpenSSL has memory");
  BIO_set_mem_eof_return(in_, -1);
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_app_data(ssl_.get(), &found_);
  if (tls_->state().time.now_s) {
    X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl_.get()), tls_->state().now_s());
  }
  if (tls_->state().is_server) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
  }
}

bool Session::set_expectations() {
  constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";
  if (offers_http2_ && SSL_set_alpn_protos(ssl_.get(), kProtocols, sizeof kProtocols - 1) != 0) {
    return false;
  }
  if (!tls_->state().client.server_uri.empty()) return true;  // looked at when it is shown
  if (is_address(host_)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host_.c_str()) == 1;
  }
  return SSL_set1_host(ssl_.get(), host_.c_str()) == 1 &&
         SSL_set_tlsext_host_name(ssl_.get(), host_.c_str()) == 1;
}

void Session::go_on() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  const int why = SSL_get_error(ssl_.get(), done);
  if (done != 1 && why != SSL_ERROR_WANT_READ) {
    Error error = why_failed();
    // Whatever it was, the next one shows the certificate.
    if (found_.psk_shown) tls_->state().psk.reset();
    send_pending();  // the alert that names the reason
    return fail(std::move(error));
  }
  // What a client says first leaves together with the end of its handshake.
  if (done == 1 && !tls_->state().is_server) {
    waits_for_words_ = true;
    succeed();
    return loop_.post([self = shared_from_this()] {
      if (self->waits_for_words_) self->say();
    });
  }
  send_pending();
  if (done == 1) return succeed();
  if (reception_.on_hello && !sending_.empty()) std::exchange(reception_.on_hello, nullptr)();
  listen();
}

void Session::listen() {
  receive([self = shared_from_this()](int error) {
    if (!self->shaken_) return;
    error == 0 ? self->go_on() : self->break_off();
  });
}

void Session::break_off() {
  fail(Error{ErrorKind::kUnavailable, "connection_broken",
             fmt::format("{}: the connection broke during the TLS handshake", where_), ""});
}

void Session::succeed() {
  // By a PSK: no other sessions are resumed. Either end has shown that it has the key.
  if (SSL_session_reused(ssl_.get()) == 1) {
    peer_ = found_.psk_uri;
  } else if (const X509* peer = SSL_get0_peer_certificate(ssl_.get())) {
    const CertificateFacts facts = facts_of(*peer);
    peer_ = facts.uri;
    const std::string& wanted = tls_->state().client.server_uri;
    if (!wanted.empty() && peer_ != wanted) {
      return fail(Error{
          ErrorKind::kUnavailable, "certificate_wrong_name",
          fmt::format("{}: its certificate is that of '{}', not of '{}'", where_, peer_, wanted),
          ""});
    }
  }
  // What it showed was taken at the handshake's beginning, which may be seconds ago.
  if (tls_->state().keeps_out(peer_)) {
    return fail(Error{ErrorKind::kUnavailable, "certificate_refused",
                      fmt::format("{}: '{}' may not come in any more", where_, peer_), ""});
  }
  timer_.cancel();
  const auto done = std::exchange(shaken_, nullptr);
  done(std::unique_ptr<Stream>(new TlsStream(shared_from_this())));
}

void Session::fail(Error error) {
  timer_.cancel();
  const auto done = std::exchange(shaken_, nullptr);
  ending_ = true;
  // An alert may still be on its way; the plain stream ends with its last operation.
  if (sending_.empty() || error.kind == ErrorKind::kTimeout) close();
  if (done) done(std::move(error));
}

Error Session::why_failed() {
  const long verdict = SSL_get_verify_result(ssl_.get());
  const unsigned long queued = ERR_peek_error();
  const std::string reason = openssl_error();
  if (!tls_->state().is_server && verdict != X509_V_OK) {
    return distrust(verdict, found_.refused, tls_->state().now_s(), where_, host_);
  }
  const auto error = [&](const char* code, const std::string& message) {
    return Error{ErrorKind::kUnavailable, code, fmt::format("{}: {}", where_, message), ""};
  };
  switch (ERR_GET_REASON(queued)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return error("not_tls", "it does not speak TLS; write http:// if it is meant to be plain");
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return error("certificate_refused", "it says that our certificate has ended");
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return error("certificate_refused",
                   "it wants a client's certificate: this is the port of the agents");
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return error("certificate_refused", "it takes our certificate no more");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return error("certificate_refused", "it does not trust our certificate's authority");
    default:
      return error("handshake_failed", fmt::format("no TLS connection: {}", reason));
  }
}

void Session::answer_plainly() {
  const auto done = std::exchange(shaken_, nullptr);
  timer_ = loop_.after(std::chrono::seconds(2), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  sending_ = speak_tls();
  plain_->write_some(sending_, [self = shared_from_this()](int, std::size_t) {
    self->plain_->end_writing();
    // Read until the peer is done: closing with bytes unread would take the answer from it.
    self->incoming_ = ReadRoom(kReadBytes, kReadLeast, kReadBytes);
    self->plain_->read_some(self->incoming_.data(), self->incoming_.size(),
                            [self](int, std::size_t) { self->close(); });
  });
  done(Error{ErrorKind::kInvalid, "speak_tls", where_ + ": spoke plain HTTP", ""});
}

void Session::receive(std::function<void(int)> then) {
  plain_->read_some(incoming_.data(), incoming_.size(),
                    [self = shared_from_this(), then = std::move(then)](int error, std::size_t n) {
                      if (error != 0) return then(error);
                      const std::string_view bytes(self->incoming_.data(), n);
                      BIO_write(self->in_, bytes.data(), static_cast<int>(bytes.size()));
                      self->incoming_.came(n);
                      then(0);
                    });
}

void Session::say() {
  waits_for_words_ = false;
  send_pending();
}

// One write at a time; what OpenSSL adds meanwhile follows.
void Session::send_pending() {
  if (!sending_.empty() || closed_ || waits_for_words_) return;
  sending_ = text_of(out_);
  empty(out_);
  sent_ = 0;
  if (sending_.empty()) {
    if (ending_) plain_->end_writing();
    return finish_write(0);
  }
  write_on();
}

void Session::write_on() {
  plain_->write_some(std::string_view(sending_).substr(sent_),
                     [self = shared_from_this()](int error, std::size_t n) {
                       self->sent_ += n;
                       if (error == 0 && self->sent_ < self->sending_.size()) {
                         return self->write_on();
                       }
                       std::string().swap(self->sending_);
                       error == 0 ? self->send_pending() : self->finish_write(error);
                     });
}

void Session::finish_write(int error) {
  if (!write_done_) return;
  std::exchange(write_done_, nullptr)(error, error == 0 ? std::exchange(written_, 0) : 0);
}

void Session::read_some(char* data, std::size_t size, Stream::Done done) {
  read_to_ = data;
  read_size_ = size;
  read_done_ = std::move(done);
  // Callbacks come in a later turn, also where bytes are at hand.
  loop_.post([self = shared_from_this()] { self->try_read(); });
}

void Session::try_read() {
  if (closed_) return finish_read(ECANCELED, 0);
  ERR_clear_error();
  std::size_t bytes = 0;
  const int got = SSL_read_ex(ssl_.get(), read_to_, read_size_, &bytes);
  if (got == 1) return finish_read(0, bytes);
  switch (SSL_get_error(ssl_.get(), got)) {
    case SSL_ERROR_WANT_READ:
      empty(in_);  // OpenSSL has all of it
      send_pending();
      return receive([self = shared_from_this()](int error) {
        if (error == 0) return self->try_read();
        // An end without a word of TLS may be anybody's: whoever needs the rest has its length.
        self->finish_read(error, 0);
      });
    case SSL_ERROR_ZERO_RETURN:
      return finish_read(Stream::kEnded, 0);
    default: {
      // A server of TLS 1.3 refuses a client's certificate only after the client has begun.
      const bool is_refused = !tls_->state().is_server && ERR_GET_REASON(ERR_peek_error()) ==
                                                              SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED;
      telemetry::log(telemetry::Level::kWarning, "tls_broken",
                     {{"peer", plain_->peer_address()}, {"why", openssl_error()}});
      return finish_read(is_refused ? Stream::kRefused : EIO, 0);
    }
  }
}

void Session::finish_read(int error, std::size_t bytes) {
  const auto done = std::exchange(read_done_, nullptr);
  read_to_ = nullptr;
  if (done) done(error, bytes);
}

void Session::write_some(std::string_view data, Stream::Done done) {
  ERR_clear_error();
  write_done_ = std::move(done);
  std::size_t bytes = 0;
  if (closed_ ||
      SSL_write_ex(ssl_.get(), data.data(), std::min(data.size(), kWriteBytes), &bytes) != 1) {
    const int error = closed_ ? ECANCELED : EIO;
    loop_.post([self = shared_from_this(), error] { self->finish_write(error); });
    return;
  }
  written_ = bytes;
  say();
}

void Session::end_writing() {
  if (closed_) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ending_ = true;
  say();
}

Handshake start(const std::shared_ptr<Session>& session, std::chrono::microseconds timeout,
                Session::Shaken done, Reception reception = {}) {
  session->shake(timeout, std::move(done), std::move(reception));
  return Handshake(session.get(), [session](void*) { session->abandon(); });
}

}  // namespace

Handshake connect_tls(Loop& loop, std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls,
                      const std::string& host, const std::string& where,
                      std::chrono::microseconds timeout,
                      std::function<void(Result<std::unique_ptr<Stream>>)> done,
                      bool offers_http2) {
  return start(
      std::make_shared<Session>(loop, std::move(plain), std::move(tls), host, where, offers_http2),
      timeout, std::move(done));
}

Handshake accept_tls(Loop& loop, std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls,
                     std::chrono::microseconds timeout,
                     std::function<void(Result<std::unique_ptr<Stream>>)> done,
                     Reception reception) {
  const std::string peer = plain->peer_address();
  return start(std::make_shared<Session>(loop, std::move(plain), std::move(tls), "", peer,
                                         /*offers_http2=*/false),
               timeout, std::move(done), std::move(reception));
}

}  // namespace dove::wire
