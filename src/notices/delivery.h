// Delivery: hands one notice to its target: to the site's relay, or to a webhook.
//
// A webhook is told who says so: `Dove-Notice-Signature` is a JWT (ES256, typ dove-notice+jwt) of
// the cluster's own key, which /v1/identity-keys shows. It holds the notice's id (jti), the SHA-256
// of the body, the webhook's origin (aud) and the time, so that neither another body nor another
// receiver nor another day can use it. Its typ and audience keep it from being taken for a job's
// identity token.
#pragma once

#include <atomic>
#include <string>

#include "notices/outbox.h"
#include "notices/settings.h"
#include "notices/wording.h"
#include "openid/signer.h"

namespace dove::notices {

class Delivery {
 public:
  Delivery(Settings settings, openid::Signer signer)
      : settings_(std::move(settings)), signer_(std::move(signer)) {}

  // Blocks, for seconds. Any thread.
  Attempted deliver(const Letter& letter, const Origin& origin) const;
  // What is under way gives up at once.
  void stop() { stopping_ = true; }

 private:
  Attempted by_mail(const Letter& letter, const Origin& origin) const;
  Attempted by_web(const Letter& letter, const Origin& origin) const;
  std::string signature(const Letter& letter, const Origin& origin, const std::string& body) const;

  const Settings settings_;
  const openid::Signer signer_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace dove::notices
