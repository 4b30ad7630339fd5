#include "sim/explore/line.h"

#include <algorithm>
#include <utility>

#include "sim/explore/stream_state.h"

namespace dove::sim {

struct Line::State : std::enable_shared_from_this<Line::State> {
  struct Call {
    std::uint64_t id = 0;
    wire::Request request;
    std::function<void(Result<wire::Response>)> done;
  };

  State(Network& of, Host& at, std::string server, const wire::AsyncClientOptions& with)
      : network(of), host(at), to(std::move(server)), options(with) {}

  void advance() {
    if (busy || calls.empty()) return;
    busy = true;
    Call& front = calls.front();
    network.request(host, to, std::move(front.request),
                    [weak = weak_from_this(), id = front.id](Result<wire::Response> answer) {
                      if (const auto self = weak.lock()) self->over(id, std::move(answer));
                    });
  }
  void over(std::uint64_t id, Result<wire::Response> answer) {
    const auto at =
        std::find_if(calls.begin(), calls.end(), [id](const Call& call) { return call.id == id; });
    if (at == calls.end()) return;
    if (at == calls.begin()) busy = false;
    const auto done = std::move(at->done);
    calls.erase(at);
    const auto self = shared_from_this();
    advance();
    done(std::move(answer));
  }

  Network& network;
  Host& host;
  const std::string to;
  const wire::AsyncClientOptions options;
  std::deque<Call> calls;  // the front one is under way when `busy`
  std::uint64_t last_id = 0;
  bool busy = false;
};

Line::Line(Network& network, Host& host, std::string to, const wire::AsyncClientOptions& options)
    : state_(std::make_shared<State>(network, host, std::move(to), options)) {}

Line::~Line() { state_->calls.clear(); }

void Line::call(wire::Request request, std::function<void(Result<wire::Response>)> done,
                std::chrono::microseconds timeout) {
  const std::uint64_t id = ++state_->last_id;
  state_->calls.push_back(State::Call{id, std::move(request), std::move(done)});
  state_->network.agenda().in(timeout.count(), [weak = std::weak_ptr<State>(state_), id] {
    if (const auto self = weak.lock()) {
      self->over(id, Error{ErrorKind::kTimeout, "timeout", "no answer in time", ""});
    }
  });
  state_->advance();
}

std::unique_ptr<wire::InStream> Line::open_stream(wire::Request request,
                                                  wire::StreamCallbacks callbacks) {
  auto stream = std::make_shared<StreamState>(state_->network, state_->host, state_->to);
  stream->callbacks = std::move(callbacks);
  stream->silence_us = state_->options.silence_timeout.count();
  stream->heard_us = state_->network.agenda().now_us();
  stream->watch_silence();
  state_->network.open_stream(std::move(request), stream);
  return client_end(std::move(stream));
}

std::size_t Line::pending() const { return state_->calls.size(); }

}  // namespace dove::sim
