#include "programs/server/site_certificate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "files/filled_file.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

constexpr std::size_t kPemBytesMax = 256 << 10;
constexpr std::chrono::seconds kLookEvery{5};

std::string day_text(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S UTC}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string text_of(const wire::Credentials& site) { return site.chain_pem + site.key_pem; }

}  // namespace

Result<std::unique_ptr<SiteCertificate>> SiteCertificate::open(wire::Loop& loop,
                                                               std::string certificate_path,
                                                               std::string key_path,
                                                               wire::TlsServerOptions options) {
  std::unique_ptr<SiteCertificate> self(
      new SiteCertificate(loop, std::move(certificate_path), std::move(key_path), options.time));
  TRY_ASSIGN(options.own, self->read());
  TRY(self->check(options.own));
  self->tell(self->is_of_now(options.own));
  TRY_ASSIGN(self->tls_, wire::Tls::for_server(options));
  self->shown_ = text_of(options.own);
  self->keep_fresh();
  return self;
}

Result<wire::Credentials> SiteCertificate::read() const {
  wire::Credentials site;
  TRY_ASSIGN(site.chain_pem, files::read_filled(certificate_path_, kPemBytesMax));
  TRY_ASSIGN(site.key_pem, files::read_filled(key_path_, kPemBytesMax));
  return site;
}

Result<void> SiteCertificate::check(const wire::Credentials& site) {
  // Signatures take their time, and the files are the same at nearly every look.
  if (std::string text = text_of(site); text != checked_text_) {
    checked_text_ = std::move(text);
    checked_ = wire::belong_together(site);
    if (checked_.ok()) checked_ = wire::check_chain(site.chain_pem);
  }
  if (checked_.ok()) return {};
  const Error& error = checked_.error();
  return Error{error.kind, error.code, fmt::format("{}: {}", certificate_path_, error.message),
               certificate_path_};
}

Result<void> SiteCertificate::is_of_now(const wire::Credentials& site) const {
  TRY_ASSIGN(const wire::CertificateFacts facts, wire::read_certificate(site.chain_pem));
  const std::int64_t now_s = time_.now_s ? time_.now_s() : telemetry::now_us() / 1'000'000;
  if (now_s > facts.not_after_s) {
    return Error{
        ErrorKind::kInvalid, "certificate_expired",
        fmt::format("{}: it ended {}; no client takes it. Put a new one and its key there: "
                    "they are taken without a restart",
                    certificate_path_, day_text(facts.not_after_s)),
        certificate_path_};
  }
  if (now_s < facts.not_before_s) {
    return Error{ErrorKind::kInvalid, "certificate_not_yet_valid",
                 fmt::format("{}: it begins {}, and no client takes it before; set this machine's "
                             "clock if it is wrong, or put one there that is valid now",
                             certificate_path_, day_text(facts.not_before_s)),
                 certificate_path_};
  }
  return {};
}

void SiteCertificate::keep_fresh() {
  timer_ = loop_.after(kLookEvery, [this] {
    look();
    keep_fresh();
  });
}

// Between the writing of the two files they do not fit: the next look will see both.
void SiteCertificate::look() {
  const Result<wire::Credentials> site = read();
  if (!site.ok()) return tell(site.error());
  if (const Result<void> fit = check(*site); !fit.ok()) return tell(fit);
  const Result<void> timely = is_of_now(*site);
  tell(timely);
  if (!timely.ok() || text_of(*site) == shown_) return;
  (void)tls_->show(*site);
  shown_ = text_of(*site);
  telemetry::log(telemetry::Level::kInfo, "certificate_taken", {{"file", certificate_path_}});
}

void SiteCertificate::tell(const Result<void>& looked) {
  std::string why = looked.ok() ? "" : looked.error().message;
  if (!why.empty() && why != trouble_) {
    const std::string& code = looked.error().code;
    const bool is_of_time = code == "certificate_expired" || code == "certificate_not_yet_valid";
    telemetry::log(telemetry::Level::kWarning, is_of_time ? code.c_str() : "certificate_unreadable",
                   {{"why", why}});
  }
  trouble_ = std::move(why);
}

}  // namespace dove::programs
