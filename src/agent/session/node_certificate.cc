#include "agent/session/node_certificate.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "agent/session/answer.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

constexpr const char kNotCertified[] = "not_certified";

}  // namespace

NodeCertificate::NodeCertificate(wire::Loop& loop, Uplink& uplink, std::string node, Host host)
    : loop_(loop),
      uplink_(uplink),
      node_(std::move(node)),
      host_(std::move(host)),
      jitter_(std::hash<std::string>{}(node_)) {}

void NodeCertificate::ask(std::function<void(Result<void>)> done) {
  Result<std::string> body = uplink_.certificate_request();
  if (!body.ok()) return done(body.error());
  uplink_.front().call(
      uplink_.request("POST", "certificate", std::move(*body)),
      [this, done = std::move(done)](const Result<wire::Response>& answer) {
        if (is_stopped_) return;
        if (!answer.ok()) return done(answer.error());
        const Json said = answer_object(*answer);
        if (answer->status != 200) {
          const char* code = says_full(*answer, said) ? kFull : kNotCertified;
          return done(answer_refusal(*answer, said, code));
        }
        Result<void> taken = uplink_.take(said);
        if (taken.ok()) renew_later();
        if (taken.ok()) host_.taken();
        done(std::move(taken));
      },
      uplink_.answer_within());
}

void NodeCertificate::give_up() {
  if (uplink_.secure()) renew_later();
}

// At a random moment: nodes that joined together would ask together for ever.
void NodeCertificate::renew_later() {
  const double random = static_cast<double>(jitter_.below(1000)) / 1000;
  const auto wait = uplink_.until_renewal(random);
  timer_ = loop_.after(wait, [this] {
    // Without a session there is nobody to ask; who connects anew asks if it has run out.
    if (!host_.in_session()) return renew_later();
    ask([this](const Result<void>& certified) {
      if (certified.ok()) return;
      telemetry::log(telemetry::Level::kWarning, "certificate_not_renewed",
                     {{"node", node_}, {"why", certified.error().message}});
      renew_later();  // its time has come: soon
    });
  });
}

}  // namespace dove::agent
