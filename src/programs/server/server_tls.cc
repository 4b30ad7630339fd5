#include "programs/server/server_tls.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "containers/egress.h"
#include "listener/node_authority.h"
#include "programs/settings.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kOwnValid_s = 30 * 24 * 3600;
constexpr std::chrono::seconds kLook{5};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Error bad_setting(const std::string& message, const std::string& field) {
  return Error{ErrorKind::kInvalid, "bad_setting", message, field};
}

// Every name that a client of this machine may use.
std::vector<std::string> names_of(const TlsSettings& settings, const std::string& host) {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1", containers::kGateway};
  char machine[256] = {};
  if (gethostname(machine, sizeof machine - 1) == 0) names.emplace_back(machine);
  if (host != "0.0.0.0" && host != "::") names.push_back(host);
  names.insert(names.end(), settings.names.begin(), settings.names.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::vector<cli::OptionSpec> tls_option_specs() {
  return {
      {"tls", 0, "", "TLS on loopback, too; elsewhere it is always on", false},
      {"insecure", 0, "", "plain HTTP beyond loopback: anybody on the network can read it", false},
      {"agents-port", 0, "PORT", "port for agents alone, with TLS (the one after --port)", false},
      {"tls-name", 0, "NAME,...", "more names and addresses that clients reach the server by",
       false},
      {"tls-certificate", 0, "FILE", "the site's own certificate for people, with its chain",
       false},
      {"tls-key", 0, "FILE", "its private key", false},
      {"tls-1-2", 0, "", "accept TLS 1.2 from people, too", false},
      {"node-certificate-s", 0, "SECONDS", "how long a node's certificate is valid (86400)", false},
  };
}

Result<TlsSettings> tls_settings(const Settings& given, const std::string& host,
                                 std::uint16_t people_port) {
  TlsSettings tls;
  TRY_ASSIGN(const bool insecure, given.flag("insecure"));
  TRY_ASSIGN(const bool asked, given.flag("tls"));
  if (insecure && asked) return bad_setting("give --tls or --insecure, not both", "--tls");
  tls.on = asked || (!is_loopback(host) && !insecure);
  std::stringstream names(given.text("tls-name", ""));
  for (std::string name; std::getline(names, name, ',');) tls.names.push_back(name);
  tls.certificate_path = given.text("tls-certificate", "");
  tls.key_path = given.text("tls-key", "");
  if (tls.certificate_path.empty() != tls.key_path.empty()) {
    return bad_setting("--tls-certificate and --tls-key belong together", "--tls-key");
  }
  if (!tls.certificate_path.empty() && !tls.on) {
    return bad_setting("--tls-certificate has no effect without --tls on a loopback address",
                       "--tls-certificate");
  }
  TRY_ASSIGN(tls.allows_1_2, given.flag("tls-1-2"));
  const std::int64_t next = people_port == 0 || people_port == 65'535 ? 0 : people_port + 1;
  TRY_ASSIGN(const std::int64_t port, given.integer("agents-port", next, 0, 65'535));
  tls.agents_port = static_cast<std::uint16_t>(port);
  TRY_ASSIGN(tls.node_valid_s,
             given.integer("node-certificate-s", 24 * 3600, 3, listener::kNodeCertificateMost_s));
  return tls;
}

ServerTls::ServerTls(wire::Loop& loop, TlsSettings settings, std::string data_dir,
                     Authorities authorities, std::vector<std::string> names,
                     std::function<std::int64_t()> now_s)
    : loop_(loop),
      settings_(std::move(settings)),
      data_dir_(std::move(data_dir)),
      authorities_(std::move(authorities)),
      marks_(authority_files(data_dir_)),
      names_(std::move(names)),
      now_s_(std::move(now_s)),
      key_pem_(wire::make_private_key()) {}

Result<std::unique_ptr<ServerTls>> ServerTls::open(wire::Loop& loop, const TlsSettings& settings,
                                                   const std::string& data_dir,
                                                   const std::string& host,
                                                   std::function<std::int64_t()> now_us) {
  TRY_ASSIGN(Authorities authorities, open_authorities(data_dir, "dove"));
  const auto now_s = [now_us = std::move(now_us)] { return now_us() / 1'000'000; };
  std::unique_ptr<ServerTls> self(new ServerTls(loop, settings, data_dir, std::move(authorities),
                                                names_of(settings, host), now_s));
  wire::TlsServerOptions options;
  options.time.now_s = now_s;
  TRY_ASSIGN(options.own, self->own_certificate());
  self->made_s_ = now_s();
  options.client_authorities_pem = self->authorities_.believed_pem();
  options.http2 = true;
  TRY_ASSIGN(self->agents_, wire::Tls::for_server(options));
  self->take_psks();
  options.http2 = false;  // of agents alone: strangers reach no parser of it
  options.client_authorities_pem.clear();
  options.allows_1_2 = settings.allows_1_2;
  if (settings.certificate_path.empty()) {
    TRY_ASSIGN(self->people_, wire::Tls::for_server(options));
  } else {
    TRY_ASSIGN(self->site_,
               SiteCertificate::open(loop, settings.certificate_path, settings.key_path, options));
    self->people_ = self->site_->tls();
  }
  self->keep_fresh();
  return self;
}

server::ApiTls ServerTls::for_api() const {
  server::ApiTls shown;
  shown.people = people_;
  shown.is_own = settings_.certificate_path.empty();
  shown.authority = authorities_.shown.credentials();
  shown.agents = agents_;
  shown.agents_port = settings_.agents_port;
  shown.node_valid_s = settings_.node_valid_s;
  return shown;
}

Result<wire::Credentials> ServerTls::own_certificate() const {
  wire::Credentials own;
  own.key_pem = key_pem_;
  TRY_ASSIGN(const std::string request, wire::certificate_request(key_pem_));
  wire::Grant grant;
  grant.names = names_;
  grant.now_s = now_s_();
  grant.valid_s = kOwnValid_s;
  TRY_ASSIGN(own.chain_pem, authorities_.shown.issue(request, grant));
  return own;
}

void ServerTls::on_authorities(std::function<void(const server::ApiAuthorities&)> call) {
  on_authorities_ = std::move(call);
  tell_authorities();
}

// Those that were issued with a certificate which is believed.
void ServerTls::take_psks() {
  std::vector<wire::PskIssuer> issuers = {wire::PskIssuer(authorities_.shown)};
  if (authorities_.next) issuers.emplace_back(*authorities_.next);
  agents_->take_psks_of(std::move(issuers));
}

void ServerTls::tell_authorities() {
  if (!on_authorities_) return;  // a standby's: it certifies nobody
  server::ApiAuthorities all;
  all.shown = authorities_.shown.credentials();
  if (authorities_.next) {
    all.next = authorities_.next->credentials();
    all.certified = [data_dir = data_dir_, digest = authorities_.next->digest()](
                        const std::string& node) { add_follower(data_dir, digest, node); };
  }
  on_authorities_(all);
}

void ServerTls::show_own() {
  const Result<wire::Credentials> own = own_certificate();
  if (!own.ok()) return;
  made_s_ = now_s_();
  (void)agents_->show(*own);
  if (site_ == nullptr) (void)people_->show(*own);
  telemetry::log(telemetry::Level::kInfo, "certificate_renewed", {});
}

void ServerTls::look_at_authorities() {
  if (!marks_.changed()) return;
  const bool is_there = ::access((data_dir_ + "/ca.pem").c_str(), F_OK) == 0;
  Result<Authorities> now =
      Error{ErrorKind::kNotFound, "no_authority", data_dir_ + "/ca.pem is gone; put it back", ""};
  if (is_there) now = open_authorities(data_dir_, "dove");
  std::string why = now.ok() ? "" : now.error().message;
  if (!why.empty() && why != authority_trouble_) {
    telemetry::log(telemetry::Level::kWarning, "authority_unreadable", {{"why", why}});
  }
  authority_trouble_ = std::move(why);
  if (!now.ok()) return marks_.forget();
  const bool is_new = now->shown.digest() != authorities_.shown.digest();
  if (!is_new && now->believed_pem() == authorities_.believed_pem()) return;
  authorities_ = std::move(now).value();
  (void)agents_->believe(authorities_.believed_pem());
  take_psks();
  if (is_new) show_own();
  tell_authorities();
  telemetry::log(telemetry::Level::kInfo, "authorities_taken",
                 {{"shown", authorities_.shown.digest()},
                  {"next", authorities_.next ? authorities_.next->digest() : ""}});
}

void ServerTls::keep_fresh() {
  timer_ = loop_.after(kLook, [this] { keep_fresh(); });
  look_at_authorities();
  if (const std::int64_t age_s = now_s_() - made_s_; age_s >= kOwnValid_s / 3 || age_s < 0) {
    show_own();
  }
}

}  // namespace dove::programs
