#include "agent/health/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "wire/secret.h"

namespace dove::agent {
namespace {

constexpr std::chrono::milliseconds kAgain{50};
constexpr std::size_t kChunk_bytes = 8 << 20;
constexpr int kTaken = 204;
constexpr int kNotYet = 409;

// What node `rank` brings to word `index`; the sum over all is known to everybody.
std::uint64_t word_of(std::size_t index, std::size_t rank) {
  return (index + 1) * 0x9E3779B97F4A7C15u + rank;
}

std::uint64_t sum_of(std::size_t index, std::size_t nodes) {
  return nodes * word_of(index, 0) + nodes * (nodes - 1) / 2;
}

constexpr std::string_view kPath = "/ring/";

}  // namespace

// Nothing is taken of whoever does not have the ring's secret.
wire::ServerLimits RingHub::limits() {
  wire::ServerLimits limits;
  limits.connections_max = 256;
  limits.admit = [this](const wire::Request& head) -> Result<std::size_t> {
    const bool well = head.path.starts_with(kPath);
    const auto ring = well ? rings_.find(head.path.substr(kPath.size())) : rings_.end();
    if (ring == rings_.end()) {
      return Error{ErrorKind::kConflict, "no_such_ring", "there is no such ring here (yet)", ""};
    }
    if (ring->second->knows(std::string(head.header("Authorization")))) return kChunk_bytes;
    return Error{ErrorKind::kDenied, "wrong_secret", "this is not the ring's secret", ""};
  };
  return limits;
}

RingHub::RingHub(wire::Loop& loop)
    : server_(
          loop, limits(),
          [this](const wire::Request& request, const std::shared_ptr<wire::Responder>& responder) {
            handle(request, responder);
          }) {}

void RingHub::handle(const wire::Request& request,
                     const std::shared_ptr<wire::Responder>& responder) {
  const std::string* text = request.find_query("step");
  std::size_t step = 0;
  const bool well =
      request.method == "POST" && request.path.starts_with(kPath) && text != nullptr &&
      std::from_chars(text->data(), text->data() + text->size(), step).ec == std::errc();
  int status = 404;
  if (well) {
    const auto ring = rings_.find(request.path.substr(kPath.size()));
    status = ring == rings_.end()
                 ? kNotYet
                 : ring->second->arrived(step, std::string(request.header("Authorization")),
                                         request.body);
  }
  responder->send(wire::Response{status, {}, ""});
}

Ring::Ring(wire::Loop& loop, RingHub& hub, RingPlan plan,
           std::function<void(std::optional<RingFailure>)> done)
    : loop_(loop),
      hub_(hub),
      plan_(std::move(plan)),
      done_(std::move(done)),
      client_(loop, wire::Address{next().host, next().port, plan_.tls}) {
  CHECK(plan_.peers.size() >= 2, "a ring has at least two nodes");
  CHECK(hub_.rings_.emplace(plan_.key, this).second, "an attempt has only one ring");
  words_.resize(plan_.words);
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = word_of(i, plan_.rank);
  limit_timer_ = loop_.after(plan_.limit, [this] { too_late(); });
  again_timer_ = loop_.after(std::chrono::milliseconds(0), [this] { send(); });
}

Ring::~Ring() { hub_.rings_.erase(plan_.key); }

std::size_t Ring::chunk_begin(std::size_t chunk) const {
  return words_.size() * chunk / plan_.peers.size();
}

// First each chunk gathers everybody's part, then the sums are passed around.
std::size_t Ring::chunk_sent(std::size_t step) const {
  const std::size_t nodes = plan_.peers.size();
  const std::size_t turn = step < nodes - 1 ? step : step - (nodes - 1);
  const std::size_t first = step < nodes - 1 ? plan_.rank : plan_.rank + 1;
  return (first + nodes - turn) % nodes;
}

void Ring::send() {
  const std::size_t chunk = chunk_sent(step_);
  const std::size_t begin = chunk_begin(chunk);
  wire::Request request;
  request.method = "POST";
  request.target = fmt::format("/ring/{}?step={}", plan_.key, step_);
  request.headers = {{"Authorization", plan_.secret}};
  request.body.assign(reinterpret_cast<const char*>(words_.data() + begin),
                      (chunk_begin(chunk + 1) - begin) * sizeof words_[0]);
  const std::int64_t since_us = loop_.monotonic_us();
  client_.call(
      std::move(request),
      [this, since_us](const Result<wire::Response>& answer) { sent(since_us, answer); },
      plan_.limit);
}

void Ring::sent(std::int64_t since_us, const Result<wire::Response>& answer) {
  if (ended_) return;
  if (!answer.ok() || answer->status != kTaken) {
    const bool is_early = answer.ok() && answer->status == kNotYet;
    trouble_ = is_early      ? ""
               : answer.ok() ? fmt::format("it answered {}", answer->status)
                             : answer.error().message;
    again_timer_ = loop_.after(kAgain, [this] { send(); });
    return;
  }
  trouble_.clear();
  const std::size_t chunk = chunk_sent(step_);
  sent_bytes_ +=
      static_cast<std::int64_t>((chunk_begin(chunk + 1) - chunk_begin(chunk)) * sizeof words_[0]);
  sent_us_ += loop_.monotonic_us() - since_us;
  is_sent_ = true;
  advance();
}

bool Ring::knows(const std::string& secret) const {
  return wire::equal_constant_time(secret, plan_.secret);
}

int Ring::arrived(std::size_t step, const std::string& secret, const std::string& bytes) {
  if (!knows(secret)) return 403;
  if (ended_ || step < step_ || arrived_.count(step) > 0) return kTaken;  // its answer was lost
  if (step >= steps()) return 400;
  if (step > step_ + 1) return kNotYet;
  arrived_[step] = bytes;
  // In a later turn: the answer goes first.
  end_timer_ = loop_.after(std::chrono::milliseconds(0), [this] { advance(); });
  return kTaken;
}

void Ring::advance() {
  const auto came = arrived_.find(step_);
  if (ended_ || !is_sent_ || came == arrived_.end()) return;
  const std::size_t nodes = plan_.peers.size();
  const bool sums = step_ < nodes - 1;
  const std::size_t chunk = (chunk_sent(step_) + nodes - 1) % nodes;
  const std::size_t begin = chunk_begin(chunk);
  const std::size_t count = chunk_begin(chunk + 1) - begin;
  const std::string& before = plan_.peers[(plan_.rank + nodes - 1) % nodes].name;
  if (came->second.size() != count * sizeof words_[0]) {
    return end(RingFailure{before, fmt::format("{} bytes came from it in place of {}",
                                               came->second.size(), count * sizeof words_[0])});
  }
  std::vector<std::uint64_t> values(count);
  std::memcpy(values.data(), came->second.data(), came->second.size());
  for (std::size_t i = 0; i < count; ++i) {
    words_[begin + i] = sums ? words_[begin + i] + values[i] : values[i];
  }
  arrived_.erase(came);
  is_sent_ = false;
  if (++step_ < steps()) return send();
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] == sum_of(i, nodes)) continue;
    return end(RingFailure{before, "numbers that came from it are wrong"});
  }
  const std::int64_t per_s = sent_bytes_ * 1'000'000 / std::max<std::int64_t>(sent_us_, 1);
  if (per_s >= plan_.bytes_per_s_min) return end(std::nullopt);
  end(RingFailure{next().name, fmt::format("{} MB/s to it, at least {} MB/s are wanted",
                                           per_s / 1'000'000, plan_.bytes_per_s_min / 1'000'000)});
}

// Who cannot send knows the link. Who only waits leaves it to the others to say why, for a while.
void Ring::too_late() {
  if (!trouble_.empty()) return end(RingFailure{next().name, trouble_});
  limit_timer_ = loop_.after(plan_.limit / 2, [this] {
    const std::size_t nodes = plan_.peers.size();
    const std::string& silent =
        is_sent_ ? plan_.peers[(plan_.rank + nodes - 1) % nodes].name : next().name;
    end(RingFailure{silent, fmt::format("nothing of step {} of {} came through in {} s", step_ + 1,
                                        steps(), plan_.limit.count() * 3 / 2000)});
  });
}

void Ring::end(std::optional<RingFailure> failure) {
  if (ended_) return;
  ended_ = true;
  limit_timer_.cancel();
  again_timer_.cancel();
  end_timer_ = loop_.after(std::chrono::milliseconds(0), [this, failure = std::move(failure)] {
    const auto done = std::move(done_);
    const std::optional<RingFailure> told = failure;
    done(told);  // which may end us
  });
}

}  // namespace dove::agent
