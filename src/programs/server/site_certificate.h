// SiteCertificate: a site's own certificate (--tls-certificate, --tls-key), as people are shown it.
//
// Its files are looked at every few seconds, and what is new in them is shown from then on, unless
// it is damaged, has ended or begins later. One that has ended does not keep the server from its
// start: tasks end when their nodes hear from no server for long, and only people need this
// certificate. Loop thread only.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/tls/tls.h"

namespace dove::programs {

class SiteCertificate {
 public:
  // `options` say all but what is shown. Errors name the file: bad_certificate, bad_key, wrong_key,
  // and those of reading it.
  static Result<std::unique_ptr<SiteCertificate>> open(wire::Loop& loop,
                                                       std::string certificate_path,
                                                       std::string key_path,
                                                       wire::TlsServerOptions options);
  const std::shared_ptr<wire::Tls>& tls() const { return tls_; }

 private:
  SiteCertificate(wire::Loop& loop, std::string certificate_path, std::string key_path,
                  wire::TlsTime time)
      : loop_(loop),
        certificate_path_(std::move(certificate_path)),
        key_path_(std::move(key_path)),
        time_(std::move(time)) {}
  Result<wire::Credentials> read() const;
  // Whether key and chain fit. Errors: bad_certificate, bad_key, wrong_key.
  Result<void> check(const wire::Credentials& site);
  // Errors: certificate_expired, certificate_not_yet_valid.
  Result<void> is_of_now(const wire::Credentials& site) const;
  void keep_fresh();
  void look();
  // Once for each trouble, for as long as it lasts.
  void tell(const Result<void>& looked);

  wire::Loop& loop_;
  const std::string certificate_path_;
  const std::string key_path_;
  std::shared_ptr<wire::Tls> tls_;
  const wire::TlsTime time_;
  std::string checked_text_;  // of both files, that check() has looked at last
  Result<void> checked_;      // what it found
  std::string shown_;         // the texts of both files
  std::string trouble_;       // what was wrong at the last look; "": nothing
  wire::Timer timer_;
};

}  // namespace dove::programs
