#include "agent/secrets/secret_requests.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "agent/session/answer.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kAgain{1};
constexpr std::chrono::seconds kTimeout{10};
constexpr int kTries = 60;

}  // namespace

void SecretRequests::ask(AttemptKey key, std::function<bool()> wanted, Done done, int tries) {
  if (is_stopped_ || (tries > 0 && !wanted())) return;
  const auto later = [this, key, wanted, tries, done](const Error& why) {
    if (tries >= kTries) return done(why);
    timers_[key] = loop_.after(
        kAgain, [this, key, wanted, tries, done] { ask(key, wanted, done, tries + 1); });
  };
  const Error nobody{ErrorKind::kUnavailable, "no_controller",
                     "the controller did not give the job's secrets to its node in time", ""};
  if (!in_session_()) return later(nobody);
  line_.call(
      uplink_.request("GET", fmt::format("secrets/{}/{}", key.job.value, key.attempt), ""),
      [later, nobody, done](Result<wire::Response> answer) {
        if (!answer.ok()) return later(nobody);
        const Json body = answer_object(*answer);
        if (answer->status == 200) return done(read_secrets(body));
        const Error refused = answer_refusal(*answer, body, "no_secrets");
        if (answer->status / 100 == 4) return done(refused);
        later(refused);
      },
      kTimeout);
}

}  // namespace dove::agent
