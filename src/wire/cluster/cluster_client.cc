#include "wire/cluster/cluster_client.h"

#include <algorithm>
#include <list>
#include <utility>

namespace dove::wire {
namespace {

constexpr std::chrono::seconds kConnect{3};  // to one of several
constexpr std::chrono::seconds kOpen{5};     // the same, of a WebSocket

std::int64_t in_us(std::chrono::microseconds time) { return time.count(); }

Gave gave(const Error& failure) {
  if (is_silent(failure)) return Gave::kNothing;
  return failure.code == "timeout" ? Gave::kNothingInTime : Gave::kRefusal;
}

// How often one thing was asked, and until when.
struct Search {
  std::size_t tried = 0;
  std::int64_t until_us = 0;

  // Before the next one is asked: a pause where all have been.
  std::chrono::microseconds pause(std::size_t count) {
    return ++tried % count == 0 ? std::chrono::microseconds(kLeaderPause)
                                : std::chrono::microseconds(0);
  }
};

}  // namespace

struct ClusterClient::State : std::enable_shared_from_this<ClusterClient::State> {
  struct Call {
    Request request;
    std::function<void(Result<Response>)> done;
    std::int64_t ends_us = 0;
    Search search;
    Timer timer;
  };
  using CallPtr = std::list<Call>::iterator;

  State(Loop& of, ControllersPtr all, AsyncClientOptions given)
      : loop(of), controllers(std::move(all)) {
    if (controllers->has_several()) {
      given.connect_timeout = std::min<std::chrono::microseconds>(given.connect_timeout, kConnect);
    }
    for (std::size_t i = 0; i < controllers->size(); ++i) {
      clients.push_back(std::make_unique<AsyncClient>(loop, (*controllers)[i].address, given));
    }
  }

  void ask(CallPtr call);
  void hear(CallPtr call, std::size_t place, Result<Response> answer);

  Loop& loop;
  const ControllersPtr controllers;
  std::vector<std::unique_ptr<AsyncClient>> clients;
  std::list<Call> calls;
};

void ClusterClient::State::ask(CallPtr call) {
  const std::size_t place = controllers->at();
  Request request = call->request;
  request.target = (*controllers)[place].prefix + request.target;
  std::int64_t left_us = std::max<std::int64_t>(call->ends_us - loop.monotonic_us(), 1);
  if (controllers->has_several() && may_repeat(request))
    left_us = std::max<std::int64_t>(left_us / 2, 1);
  clients[place]->call(
      std::move(request),
      [weak = weak_from_this(), call, place](Result<Response> answer) {
        if (const auto self = weak.lock()) self->hear(call, place, std::move(answer));
      },
      std::chrono::microseconds(left_us));
}

void ClusterClient::State::hear(CallPtr call, std::size_t place, Result<Response> answer) {
  const std::int64_t now_us = loop.monotonic_us();
  const bool repeats = may_repeat(call->request);
  const bool was_late = !answer.ok() && answer.error().code == "timeout";
  const bool goes_on = answer.ok() ? is_elsewhere(*answer, repeats)
                                   : is_elsewhere(answer.error(), repeats) || (was_late && repeats);
  if (controllers->has_several() && (goes_on || !answer.ok())) {
    controllers->pass(place, answer.ok() ? Gave::kRefusal : gave(answer.error()), now_us);
  }
  const auto pause = call->search.pause(controllers->size());
  const std::int64_t next_us = now_us + in_us(pause);
  if (controllers->has_several() && goes_on && next_us < call->ends_us &&
      next_us < call->search.until_us) {
    call->timer = loop.after(pause, [this, call] { ask(call); });
    return;
  }
  const auto done = std::move(call->done);
  calls.erase(call);
  done(std::move(answer));
}

ClusterClient::ClusterClient(Loop& loop, ControllersPtr controllers, AsyncClientOptions options)
    : state_(std::make_shared<State>(loop, std::move(controllers), options)) {}

ClusterClient::~ClusterClient() {
  for (State::Call& call : state_->calls) call.timer.cancel();
  state_->clients.clear();
}

void ClusterClient::call(Request request, std::function<void(Result<Response>)> done,
                         std::chrono::microseconds timeout) {
  State& state = *state_;
  const std::int64_t now_us = state.loop.monotonic_us();
  const auto call = state.calls.insert(
      state.calls.end(), {std::move(request), std::move(done), now_us + in_us(timeout),
                          Search{0, now_us + in_us(kLeaderWait)}, Timer()});
  state.ask(call);
}

std::unique_ptr<WebSocket> connect_to_leader(Loop& loop, ControllersPtr controllers,
                                             Request request, WebSocketCallbacks callbacks) {
  const std::size_t first = controllers->at();
  const Address to = (*controllers)[first].address;
  const std::string target = request.target;
  request.target = (*controllers)[first].prefix + target;
  WebSocketLimits limits;
  WebSocketElsewhere elsewhere;
  if (controllers->has_several()) {
    limits.connect_timeout = kOpen;
    Search search{0, loop.monotonic_us() + in_us(kLeaderWait)};
    elsewhere = [&loop, controllers, target, search,
                 place = first](const Error& refused) mutable -> std::optional<WebSocketDetour> {
      const std::int64_t now_us = loop.monotonic_us();
      const bool was_late = refused.code == "timeout";
      if (!is_elsewhere(refused, /*repeats=*/true) && !was_late) return std::nullopt;
      controllers->pass(place, gave(refused), now_us);
      const auto pause = search.pause(controllers->size());
      if (now_us + in_us(pause) >= search.until_us) return std::nullopt;
      place = controllers->at();
      return WebSocketDetour{(*controllers)[place].address, (*controllers)[place].prefix + target,
                             pause};
    };
  }
  return connect_web_socket(loop, to, std::move(request), std::move(callbacks), limits,
                            std::move(elsewhere));
}

}  // namespace dove::wire
