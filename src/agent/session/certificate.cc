// The node's certificate: asked for before the first session of a life, renewed while one lasts.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "agent/agent.h"
#include "agent/session/answer.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

constexpr const char kNotCertified[] = "not_certified";
constexpr const char kFull[] = "disk_full";

}  // namespace

void Agent::ask_for_certificate(std::function<void(Result<void>)> done) {
  Result<std::string> body = uplink_.request();
  if (!body.ok()) return done(body.error());
  wire::Request message =
      request("POST", fmt::format("/v1/agents/{}/certificate", options_.name), std::move(*body));
  uplink_.front().call(std::move(message),
                       [this, done = std::move(done)](const Result<wire::Response>& answer) {
                         if (stopped_) return;
                         if (!answer.ok()) return done(answer.error());
                         const Json said = answer_object(*answer);
                         if (answer->status != 200) {
                           const char* code = says_full(*answer, said) ? kFull : kNotCertified;
                           return done(answer_refusal(*answer, said, code));
                         }
                         Result<void> taken = uplink_.take(said, loop_.wall_us() / 1'000'000);
                         facts_.authority_path = uplink_.authority_path();
                         if (taken.ok()) renew_certificate_later();
                         if (taken.ok()) listen_once_certified();
                         done(std::move(taken));
                       });
}

// What this node answers itself: first of all now, as there was nothing to show before.
void Agent::listen_once_certified() {
  if (options_.has_ring && hub_ == nullptr) listen_for_rings();
  const auto listen = std::exchange(once_certified_, nullptr);
  if (!listen) return;
  const auto serving = uplink_.serving(Uplink::Callers::kAnybody);
  const Result<void> listens = serving.ok() ? listen(*serving) : Result<void>(serving.error());
  if (listens.ok()) return;
  telemetry::log(telemetry::Level::kError, "no_metrics", {{"why", listens.error().message}});
}

// Of a node that was off for weeks, too: its token is asked for, not its former certificate.
void Agent::certify() {
  const std::int64_t sent_us = loop_.monotonic_us();
  ask_for_certificate([this, sent_us](const Result<void>& certified) {
    if (certified.ok()) return sync();
    const Error& error = certified.error();
    if (error.code == kFull) return controller_full(sent_us);
    connect_failed(error);
  });
}

// During a session nothing but the next connections changes.
void Agent::renew_certificate_later() {
  const double random = static_cast<double>(jitter_.below(1000)) / 1000;
  const auto wait = uplink_.until_renewal(loop_.wall_us() / 1'000'000, random);
  certificate_timer_ = loop_.after(wait, [this] {
    if (session_.empty()) return renew_certificate_later();
    ask_for_certificate([this](const Result<void>& certified) {
      if (certified.ok()) return;
      telemetry::log(telemetry::Level::kWarning, "certificate_not_renewed",
                     {{"node", options_.name}, {"why", certified.error().message}});
      renew_certificate_later();  // its time has come: soon
    });
  });
}

}  // namespace dove::agent
