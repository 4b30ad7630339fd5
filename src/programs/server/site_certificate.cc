#include "programs/server/site_certificate.h"

#include <fmt/format.h>

#include <utility>

#include "files/filled_file.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

constexpr std::size_t kPemBytesMax = 256 << 10;
constexpr std::chrono::seconds kLookEvery{5};

}  // namespace

Result<std::unique_ptr<SiteCertificate>> SiteCertificate::open(wire::Loop& loop,
                                                               std::string certificate_path,
                                                               std::string key_path,
                                                               wire::TlsServerOptions options) {
  std::unique_ptr<SiteCertificate> self(
      new SiteCertificate(loop, std::move(certificate_path), std::move(key_path)));
  TRY_ASSIGN(options.own, self->read());
  TRY_ASSIGN(self->tls_, wire::Tls::for_server(options));
  self->keep_fresh();
  return self;
}

Result<wire::Credentials> SiteCertificate::read() {
  wire::Credentials site;
  TRY_ASSIGN(site.chain_pem, files::read_filled(certificate_path_, kPemBytesMax));
  TRY_ASSIGN(site.key_pem, files::read_filled(key_path_, kPemBytesMax));
  const Result<void> fit = wire::belong_together(site);
  if (!fit.ok()) {
    return Error{fit.error().kind, fit.error().code,
                 fmt::format("{}: {}", certificate_path_, fit.error().message), certificate_path_};
  }
  text_ = site.chain_pem + site.key_pem;
  return site;
}

void SiteCertificate::keep_fresh() {
  timer_ = loop_.after(kLookEvery, [this] {
    look();
    keep_fresh();
  });
}

void SiteCertificate::look() {
  const std::string before = text_;
  const Result<wire::Credentials> site = read();
  // Between the writing of the two files they do not fit: the next look will see both.
  std::string why = site.ok() ? "" : site.error().message;
  if (!why.empty() && why != trouble_) {
    telemetry::log(telemetry::Level::kWarning, "certificate_unreadable", {{"why", why}});
  }
  trouble_ = std::move(why);
  if (!site.ok() || text_ == before) return;
  (void)tls_->show(*site);
  telemetry::log(telemetry::Level::kInfo, "certificate_taken", {{"file", certificate_path_}});
}

}  // namespace dove::programs
