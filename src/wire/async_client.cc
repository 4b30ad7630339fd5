#include "wire/async_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "wire/outgoing.h"
#include "wire/response_parser.h"
#include "wire/world.h"

namespace dove::wire {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

struct Call {
  std::uint64_t id = 0;
  std::string bytes;  // the request as it goes out
  bool is_head = false;
  bool repeated = false;
  std::function<void(Result<Response>)> done;
  Timer timer;
};

}  // namespace

struct AsyncClient::State : std::enable_shared_from_this<AsyncClient::State> {
  State(Loop& of, Address where, AsyncClientOptions given)
      : loop(of), to(std::move(where)), options(given), scratch(kReadBytes, '\0') {}

  void advance();
  void begin();
  void write_more();
  void read_more();
  void on_read(int error, std::size_t bytes);
  void broken();
  void complete();
  void fail_front(Error error);
  void fail_all(const Error& error);
  void time_out(std::uint64_t id);
  void hang_up();
  Error error(ErrorKind kind, const char* code, const std::string& what) const {
    return Error{kind, code, fmt::format("{}: {}", to.text(), what), {}};
  }

  Loop& loop;
  const Address to;
  AsyncClientOptions options;
  std::list<Call> calls;  // the front one is in progress when `busy`
  std::uint64_t last_id = 0;
  ConnectAttempt connecting;
  std::unique_ptr<Stream> stream;
  std::uint64_t generation = 0;  // callbacks of a former connection are not heard
  bool busy = false;
  bool reused = false;  // the connection has carried a call before this one
  bool closed = false;
  std::size_t sent = 0;
  std::unique_ptr<ResponseParser> parser;
  std::string body;
  bool too_large = false;
  std::string scratch;
  std::string held;
};

void AsyncClient::State::advance() {
  if (closed || busy || connecting || calls.empty()) return;
  if (stream) return begin();
  connecting = connect_to(loop, to, options.connect_timeout,
                          [weak = weak_from_this()](Result<std::unique_ptr<Stream>> result) {
                            const auto self = weak.lock();
                            if (!self || self->closed) return;
                            self->connecting.reset();
                            if (!result.ok()) return self->fail_all(result.error());
                            self->stream = std::move(result).value();
                            self->reused = false;
                            self->advance();
                          });
}

void AsyncClient::State::begin() {
  busy = true;
  sent = 0;
  held.clear();
  body.clear();
  too_large = false;
  parser = std::make_unique<ResponseParser>(calls.front().is_head);
  parser->on_body = [this](std::string_view bytes) {
    too_large = body.size() + bytes.size() > options.response_bytes_max;
    if (!too_large) body += bytes;
    return !too_large;
  };
  write_more();
  read_more();
}

void AsyncClient::State::write_more() {
  const std::string_view rest = std::string_view(calls.front().bytes).substr(sent);
  stream->write_some(rest,
                     [self = shared_from_this(), mine = generation](int failed, std::size_t n) {
                       if (mine != self->generation || !self->busy || failed != 0)
                         return;  // the read reports failures
                       self->sent += n;
                       if (self->sent < self->calls.front().bytes.size()) self->write_more();
                     });
}

void AsyncClient::State::read_more() {
  stream->read_some(scratch.data(), scratch.size(),
                    [self = shared_from_this(), mine = generation](int failed, std::size_t n) {
                      if (mine == self->generation && self->busy) self->on_read(failed, n);
                    });
}

void AsyncClient::State::on_read(int failed, std::size_t bytes) {
  ResponseParser::Status status = ResponseParser::Status::kBroken;
  if (failed == 0) {
    held.append(scratch.data(), bytes);
    std::size_t consumed = 0;
    status = parser->feed(held, consumed);
    held.erase(0, consumed);
    if (status == ResponseParser::Status::kBroken) {
      const std::string reason = parser->reason();
      hang_up();
      return fail_front(
          too_large ? error(ErrorKind::kTooLarge, "response_too_large",
                            fmt::format("the answer is longer than {} bytes; ask for less",
                                        options.response_bytes_max))
                    : error(ErrorKind::kInvalid, "malformed_response",
                            fmt::format("not an answer of HTTP/1.1: {}; is this a dove server?",
                                        reason)));
    }
  } else if (failed == Stream::kEnded) {
    status = parser->end();
  } else if (failed == Stream::kRefused) {
    hang_up();
    return fail_front(
        error(ErrorKind::kDenied, "certificate_refused", "it takes our certificate no more"));
  }
  switch (status) {
    case ResponseParser::Status::kNeedMore:
      return read_more();
    case ResponseParser::Status::kDone:
      return complete();
    case ResponseParser::Status::kBroken:
      return broken();
  }
}

void AsyncClient::State::broken() {
  const bool repeat = reused && !parser->got_some() && !calls.front().repeated;
  hang_up();
  if (repeat) {
    calls.front().repeated = true;
    return advance();
  }
  fail_front(error(ErrorKind::kUnavailable, "connection_broken",
                   "the connection broke before the whole answer had come; did the server end?"));
}

void AsyncClient::State::complete() {
  Response response = parser->head();
  response.body = std::move(body);
  // Bytes beyond the answer belong to nothing that was asked.
  if (!parser->keep_alive() || !held.empty() || sent < calls.front().bytes.size()) hang_up();
  busy = false;
  reused = true;
  Call call = std::move(calls.front());
  calls.pop_front();
  call.timer.cancel();
  const auto self = shared_from_this();
  advance();
  call.done(std::move(response));
}

void AsyncClient::State::hang_up() {
  ++generation;
  busy = false;
  connecting.reset();
  if (stream) stream->close();
  stream.reset();
}

void AsyncClient::State::fail_front(Error failure) {
  Call call = std::move(calls.front());
  calls.pop_front();
  call.timer.cancel();
  const auto self = shared_from_this();
  advance();
  call.done(std::move(failure));
}

void AsyncClient::State::fail_all(const Error& failure) {
  const auto self = shared_from_this();
  std::list<Call> failed;
  failed.swap(calls);
  for (Call& call : failed) {
    call.timer.cancel();
    if (!closed) call.done(failure);
  }
}

void AsyncClient::State::time_out(std::uint64_t id) {
  const auto self = shared_from_this();
  const auto at =
      std::find_if(calls.begin(), calls.end(), [id](const Call& call) { return call.id == id; });
  if (at == calls.end()) return;
  if (at == calls.begin() && busy) hang_up();
  const auto done = std::move(at->done);
  calls.erase(at);
  advance();
  done(error(ErrorKind::kTimeout, "timeout",
             "no answer in time; is the server stuck or the network down?"));
}

AsyncClient::AsyncClient(Loop& loop, std::string host, std::uint16_t port,
                         AsyncClientOptions options)
    : AsyncClient(loop, Address{std::move(host), port, nullptr}, options) {}

AsyncClient::AsyncClient(Loop& loop, Address to, AsyncClientOptions options)
    : state_(std::make_shared<State>(loop, std::move(to), options)) {
  if (loop.world() != nullptr) {
    line_ = loop.world()->line(state_->to.host, state_->to.port, options);
  }
}

AsyncClient::~AsyncClient() {
  state_->closed = true;
  state_->hang_up();
  state_->calls.clear();
}

void AsyncClient::call(Request request, std::function<void(Result<Response>)> done,
                       std::chrono::microseconds timeout) {
  if (line_ != nullptr) return line_->call(std::move(request), std::move(done), timeout);
  State& state = *state_;
  Call call;
  call.id = ++state.last_id;
  call.bytes = request_bytes(request, state.to, true);
  call.is_head = request.method == "HEAD";
  call.done = std::move(done);
  call.timer = state.loop.after(timeout, [weak = std::weak_ptr<State>(state_), id = call.id] {
    if (const auto held = weak.lock()) held->time_out(id);
  });
  state.calls.push_back(std::move(call));
  state.advance();
}

std::unique_ptr<InStream> AsyncClient::open_stream(Request request, StreamCallbacks callbacks) {
  if (line_ != nullptr) return line_->open_stream(std::move(request), std::move(callbacks));
  return open_in_stream(state_->loop, state_->to, request, std::move(callbacks), state_->options);
}

void AsyncClient::connect_within(std::chrono::microseconds timeout) {
  state_->options.connect_timeout = timeout;
}

std::size_t AsyncClient::pending() const {
  return line_ != nullptr ? line_->pending() : state_->calls.size();
}

}  // namespace dove::wire
