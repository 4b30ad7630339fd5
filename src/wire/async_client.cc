#include "wire/async_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "wire/http2/http2_calls.h"
#include "wire/outgoing.h"
#include "wire/response_parser.h"
#include "wire/streams/line_stream.h"
#include "wire/world.h"

namespace dove::wire {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

struct Call {
  std::uint64_t id = 0;
  std::shared_ptr<const Request> request;
  std::string bytes;  // as it goes out in HTTP/1.1
  bool repeated = false;
  std::function<void(Result<Response>)> done;
  Timer timer;
  // Over HTTP/2.
  std::shared_ptr<Http2Calls> line;
  std::int32_t number = 0;
  bool line_was_proven = false;
  Response answer;
  bool got_some = false;
};

// A stream that waits for the connection.
struct Opening {
  std::shared_ptr<const Request> request;
  std::shared_ptr<LineStream> lines;
};

}  // namespace

struct AsyncClient::State : std::enable_shared_from_this<AsyncClient::State> {
  State(Loop& of, Address where, AsyncClientOptions given)
      : loop(of), to(std::move(where)), options(given), scratch(kReadBytes, '\0') {}

  void advance();
  void connected(Result<std::unique_ptr<Stream>> result);
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
  // Over HTTP/2, where `shared` is the connection.
  void share();
  std::shared_ptr<Http2Calls> borrowed() const;
  void ask(Call& call);
  std::list<Call>::iterator find_under_way(std::uint64_t id);
  void take_body(std::uint64_t id, std::string_view bytes);
  void ended(std::uint64_t id, Http2Calls::Ending ending);
  void finish(std::list<Call>::iterator at, Result<Response> result);
  void open(const Opening& one);
  Error broken_error() const {
    return error(ErrorKind::kUnavailable, "connection_broken",
                 "the connection broke before the whole answer had come; did the server end?");
  }
  Error too_large_error() const {
    return error(ErrorKind::kTooLarge, "response_too_large",
                 fmt::format("the answer is longer than {} bytes; ask for less",
                             options.response_bytes_max));
  }
  Error certificate_error() const {
    return error(ErrorKind::kDenied, "certificate_refused", "it takes our certificate no more");
  }
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
  std::shared_ptr<Http2Calls> shared;
  std::function<const AsyncClient*()> lender;
  std::list<Call> under_way;
  std::list<Opening> opening;
};

void AsyncClient::State::advance() {
  if (busy || connecting || (calls.empty() && opening.empty())) return;
  if (lender) shared = borrowed();
  if (shared != nullptr && shared->is_usable()) return share();
  shared.reset();
  if (stream) return calls.empty() ? void() : begin();
  connecting = connect_to(
      loop, to, options.connect_timeout,
      [weak = weak_from_this()](Result<std::unique_ptr<Stream>> result) {
        if (const auto self = weak.lock()) self->connected(std::move(result));
      },
      options.http2, options.reach_timeout);
}

void AsyncClient::State::connected(Result<std::unique_ptr<Stream>> result) {
  connecting.reset();
  if (!result.ok()) return fail_all(result.error());
  if ((*result)->speaks_http2()) {
    shared = Http2Calls::begin(loop, std::move(result).value());
    return advance();
  }
  // It is for calls: a stream of HTTP/1.1 has one of its own.
  stream = std::move(result).value();
  reused = false;
  for (const Opening& one : std::exchange(opening, {})) {
    receive_alone(loop, to, *one.request, one.lines, options.connect_timeout);
  }
  advance();
}

void AsyncClient::State::begin() {
  busy = true;
  sent = 0;
  Call& call = calls.front();
  if (call.bytes.empty()) call.bytes = request_bytes(*call.request, to, true);
  held.clear();
  body.clear();
  too_large = false;
  parser = std::make_unique<ResponseParser>(call.request->method == "HEAD");
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
          too_large ? too_large_error()
                    : error(ErrorKind::kInvalid, "malformed_response",
                            fmt::format("not an answer of HTTP/1.1: {}; is this a dove server?",
                                        reason)));
    }
  } else if (failed == Stream::kEnded) {
    status = parser->end();
  } else if (failed == Stream::kRefused) {
    hang_up();
    return fail_front(certificate_error());
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
  fail_front(broken_error());
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
  const auto unopened = std::exchange(opening, {});
  for (Call& call : failed) {
    call.timer.cancel();
    if (!closed) call.done(failure);
  }
  for (const Opening& one : unopened) one.lines->fail(failure);
}

void AsyncClient::State::time_out(std::uint64_t id) {
  const auto self = shared_from_this();
  const Error late = error(ErrorKind::kTimeout, "timeout",
                           "no answer in time; is the server stuck or the network down?");
  if (const auto one = find_under_way(id); one != under_way.end()) {
    one->line->cancel(one->number);
    if (shared == one->line) shared.reset();
    return finish(one, late);
  }
  const auto at =
      std::find_if(calls.begin(), calls.end(), [id](const Call& call) { return call.id == id; });
  if (at == calls.end()) return;
  if (at == calls.begin() && busy) hang_up();
  const auto done = std::move(at->done);
  calls.erase(at);
  advance();
  done(late);
}

void AsyncClient::State::share() {
  while (!calls.empty()) {
    under_way.splice(under_way.end(), calls, calls.begin());
    ask(under_way.back());
  }
  for (const Opening& one : std::exchange(opening, {})) open(one);
  // It is open for as long as its own client, or whoever hears an answer, holds it.
  if (lender) shared.reset();
}

std::shared_ptr<Http2Calls> AsyncClient::State::borrowed() const {
  const AsyncClient* other = lender();
  const auto line = other == nullptr ? nullptr : other->state_->shared;
  return line != nullptr && line->is_usable() && line->has_room() ? line : nullptr;
}

void AsyncClient::State::ask(Call& call) {
  call.line = shared;
  call.line_was_proven = shared->is_proven();
  call.got_some = false;
  call.answer = {};
  const auto weak = weak_from_this();
  const std::uint64_t id = call.id;
  Http2Calls::Hears hears;
  hears.on_head = [weak, id](Response head) {
    const auto self = weak.lock();
    if (!self) return;
    const auto at = self->find_under_way(id);
    if (at == self->under_way.end()) return;
    at->got_some = true;
    at->answer = std::move(head);
  };
  hears.on_body = [weak, id](std::string_view bytes) {
    if (const auto self = weak.lock()) self->take_body(id, bytes);
  };
  hears.on_end = [weak, id](Http2Calls::Ending ending) {
    if (const auto self = weak.lock()) self->ended(id, ending);
  };
  call.number = shared->ask(call.request, to, std::move(hears));
}

std::list<Call>::iterator AsyncClient::State::find_under_way(std::uint64_t id) {
  return std::find_if(under_way.begin(), under_way.end(),
                      [id](const Call& call) { return call.id == id; });
}

void AsyncClient::State::take_body(std::uint64_t id, std::string_view bytes) {
  const auto at = find_under_way(id);
  if (at == under_way.end()) return;
  if (at->answer.body.size() + bytes.size() <= options.response_bytes_max) {
    at->answer.body += bytes;
    return;
  }
  at->line->cancel(at->number);
  finish(at, too_large_error());
}

void AsyncClient::State::ended(std::uint64_t id, Http2Calls::Ending ending) {
  const auto at = find_under_way(id);
  if (at == under_way.end()) return;
  switch (ending) {
    case Http2Calls::Ending::kWhole:
      return finish(at, std::move(at->answer));
    case Http2Calls::Ending::kUntouched:
    case Http2Calls::Ending::kBroken: {
      const bool is_as_unasked = ending == Http2Calls::Ending::kUntouched || at->line_was_proven;
      if (at->repeated || at->got_some || !is_as_unasked) return finish(at, broken_error());
      at->repeated = true;
      at->line.reset();
      calls.splice(calls.begin(), under_way, at);
      // Others of that connection are still to be told; this one takes another.
      return loop.post([self = shared_from_this()] { self->advance(); });
    }
    case Http2Calls::Ending::kReset:
      return finish(at, error(ErrorKind::kUnavailable, "connection_broken",
                              "the server broke off its answer; its log may say why"));
    case Http2Calls::Ending::kCertificateRefused:
      return finish(at, certificate_error());
    case Http2Calls::Ending::kMalformed:
      return finish(at, error(ErrorKind::kInvalid, "malformed_response",
                              "not an answer of HTTP/2; is this a dove server?"));
  }
}

void AsyncClient::State::finish(std::list<Call>::iterator at, Result<Response> result) {
  const auto self = shared_from_this();
  Call call = std::move(*at);
  under_way.erase(at);
  call.timer.cancel();
  call.done(std::move(result));
}

void AsyncClient::State::open(const Opening& one) {
  const auto lines = one.lines;
  Http2Calls::Hears hears;
  hears.on_head = [lines](const Response& head) {
    lines->came();
    lines->opened(head.status);
  };
  hears.on_body = [lines](std::string_view bytes) {
    lines->came();
    lines->take(bytes);
  };
  hears.on_end = [lines](Http2Calls::Ending ending) {
    ending == Http2Calls::Ending::kWhole ? lines->end() : lines->broken();
  };
  lines->begin();
  const std::int32_t number = shared->ask(one.request, to, std::move(hears));
  lines->on_over([line = shared, number] { line->cancel(number); });
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
  State& state = *state_;
  state.closed = true;
  state.calls.clear();
  for (const Call& call : std::exchange(state.under_way, {})) call.line->cancel(call.number);
  // Streams that wait for the connection keep the state, and have it until they are open.
  if (!state.opening.empty()) return;
  state.hang_up();
  state.shared.reset();
}

void AsyncClient::call(Request request, std::function<void(Result<Response>)> done,
                       std::chrono::microseconds timeout) {
  if (line_ != nullptr) return line_->call(std::move(request), std::move(done), timeout);
  State& state = *state_;
  Call call;
  call.id = ++state.last_id;
  call.request = std::make_shared<const Request>(std::move(request));
  call.done = std::move(done);
  call.timer = state.loop.after(timeout, [weak = std::weak_ptr<State>(state_), id = call.id] {
    if (const auto held = weak.lock()) held->time_out(id);
  });
  state.calls.push_back(std::move(call));
  state.advance();
}

std::unique_ptr<InStream> AsyncClient::open_stream(Request request, StreamCallbacks callbacks) {
  if (line_ != nullptr) return line_->open_stream(std::move(request), std::move(callbacks));
  State& state = *state_;
  const auto lines = std::make_shared<LineStream>(state.loop, state.to.text() + request.target,
                                                  std::move(callbacks), state.options);
  auto handle = lines->handle();
  if (!state.options.http2 || state.to.tls == nullptr || state.stream != nullptr) {
    receive_alone(state.loop, state.to, request, lines, state.options.connect_timeout);
    return handle;
  }
  lines->on_over([held = state_, at = lines.get()] {
    held->opening.remove_if([at](const Opening& one) { return one.lines.get() == at; });
  });
  state.opening.push_back({std::make_shared<const Request>(std::move(request)), lines});
  state.advance();
  return handle;
}

void AsyncClient::borrow_from(std::function<const AsyncClient*()> other) {
  state_->lender = std::move(other);
}

void AsyncClient::connect_within(std::chrono::microseconds timeout) {
  if (line_ != nullptr) return line_->connect_within(timeout);
  state_->options.connect_timeout = timeout;
}

std::size_t AsyncClient::pending() const {
  return line_ != nullptr ? line_->pending() : state_->calls.size() + state_->under_way.size();
}

}  // namespace dove::wire
