// SiteCertificate: a site's own certificate (--tls-certificate, --tls-key), as people are shown it.
//
// Its files are looked at every few seconds, and what is new in them is shown from then on. Loop
// thread only.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/tls/tls.h"

namespace dove::programs {

class SiteCertificate {
 public:
  // `options` say all but what is shown. Errors name the file.
  static Result<std::unique_ptr<SiteCertificate>> open(wire::Loop& loop,
                                                       std::string certificate_path,
                                                       std::string key_path,
                                                       wire::TlsServerOptions options);
  const std::shared_ptr<wire::Tls>& tls() const { return tls_; }

 private:
  SiteCertificate(wire::Loop& loop, std::string certificate_path, std::string key_path)
      : loop_(loop),
        certificate_path_(std::move(certificate_path)),
        key_path_(std::move(key_path)) {}
  Result<wire::Credentials> read();
  void keep_fresh();
  void look();

  wire::Loop& loop_;
  const std::string certificate_path_;
  const std::string key_path_;
  std::shared_ptr<wire::Tls> tls_;
  std::string text_;     // of both files, as last read
  std::string trouble_;  // what was wrong at the last look; "": nothing
  wire::Timer timer_;
};

}  // namespace dove::programs
