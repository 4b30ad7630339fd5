#include "wire/exchange.h"

#include "base/check.h"
#include "wire/stream.h"

namespace dove::wire {

Exchange::~Exchange() {
  if (answered_.exchange(true)) return;
  deliver(problem(Error{ErrorKind::kInternal,
                        "no_answer",
                        "the server gave up on this request; its log may say why, try again",
                        {}}));
}

// Off the loop thread the connection is not even locked: its last reference must not die there.
// No connection outlives the loop, so without one the loop is not touched.
void Exchange::deliver(Response response) {
  if (answers_.expired()) return;
  if (loop_.on_loop_thread()) {
    if (const auto answers = answers_.lock()) answers->answer(std::move(response));
    return;
  }
  loop_.post([weak = answers_, answer = std::move(response)]() mutable {
    if (const auto answers = weak.lock()) answers->answer(std::move(answer));
  });
}

void Exchange::send(Response response) {
  CHECK(!answered_.exchange(true), "a request is answered once");
  deliver(std::move(response));
}

std::shared_ptr<Outflow> Exchange::stream(int status, Pairs headers) {
  CHECK(!answered_.exchange(true), "a request is answered once");
  if (const auto answers = answers_.lock(); answers && answers->open()) {
    return answers->begin_stream(status, headers);
  }
  auto inert = std::make_shared<StreamOut>(loop_, std::weak_ptr<Outlet>());
  inert->ended();
  return inert;
}

bool Exchange::peer_alive() const {
  const auto answers = answers_.lock();
  return answers && answers->open() && !answers->peer_ended();
}

void Exchange::counts_at(std::shared_ptr<Backlog> backlog) {
  const auto answers = answers_.lock();
  if (answers && answers->open()) answers->counts_at(std::move(backlog));
}

TakenOver Exchange::take_over() {
  CHECK(!answered_.exchange(true), "a request is answered once");
  const auto answers = answers_.lock();
  return answers && answers->open() ? answers->hand_over() : TakenOver{};
}

TakenOver::TakenOver() = default;
TakenOver::~TakenOver() = default;
TakenOver::TakenOver(TakenOver&&) noexcept = default;

StreamOut::~StreamOut() { close(); }

bool StreamOut::write(std::string_view bytes) {
  const auto outlet = outlet_.lock();
  return !closed_ && outlet && outlet->stream_write(bytes);
}

void StreamOut::close() {
  if (closed_) return;
  closed_ = true;
  on_closed_ = nullptr;
  if (const auto outlet = outlet_.lock()) outlet->stream_end();
}

void StreamOut::cut() {
  if (closed_) return;
  closed_ = true;
  on_closed_ = nullptr;
  if (const auto outlet = outlet_.lock()) outlet->stream_cut();
}

void StreamOut::on_closed(std::function<void()> fn) {
  if (ended_) {
    announce(std::move(fn));
  } else if (!closed_) {
    on_closed_ = std::move(fn);
  }
}

std::size_t StreamOut::buffered_bytes() const {
  const auto outlet = outlet_.lock();
  return !closed_ && outlet ? outlet->unsent_bytes() : 0;
}

void StreamOut::ended() {
  if (closed_) return;
  closed_ = true;
  ended_ = true;
  if (on_closed_) announce(std::exchange(on_closed_, nullptr));
}

void StreamOut::announce(std::function<void()> fn) {
  loop_.post([weak = weak_from_this(), call = std::move(fn)] {
    if (weak.lock()) call();
  });
}

}  // namespace dove::wire
