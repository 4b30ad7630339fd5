// dove proxy: the way in to sessions for browsers.
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <memory>

#include "files/filled_file.h"
#include "files/text_file.h"
#include "programs/commands.h"
#include "programs/log_level.h"
#include "programs/proxy/proxy_settings.h"
#include "programs/service/notice.h"
#include "programs/settings.h"
#include "proxy/proxy.h"
#include "telemetry/log.h"
#include "wire/tls/tls.h"

namespace dove::programs {
namespace {

constexpr std::size_t kFileBytesMax = 256 << 10;
constexpr std::chrono::seconds kLookAtFiles{60};

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "proxy";
  spec.summary = "Let browsers into sessions";
  spec.group = "Programs";
  spec.description =
      "Each session has an origin of its own: a name under --domain, which needs a wildcard DNS\n"
      "record and a wildcard certificate, or else a port of --ports. Browsers sign in at the\n"
      "console. The proxy has no token of its own. Start the server with the --sessions-url that\n"
      "the proxy prints. docs/operate/sessions.md says how to set it up.";
  spec.options = {
      {"url", 0, "URL", "the controller, or several: URL,URL (http://127.0.0.1:7717)", false},
      insecure_spec(),
      {"ca-file", 0, "FILE", "authorities of the controller's certificate (the system's)", false},
      {"public-url", 0, "URL",
       "the console's URL, as browsers know it (that of the controller that leads)", false},
      {"domain", 0, "NAME", "sessions are at j42.NAME", false},
      {"ports", 0, "FIRST-LAST", "without --domain: a port for each (20000-20099)", false},
      {"host", 0, "ADDRESS", "address to listen on (127.0.0.1)", false},
      {"port", 0, "PORT", "with --domain: port to listen on (443 with TLS, else 80)", false},
      {"public-port", 0, "PORT", "with --domain: port that browsers name (that of --port)", false},
      {"tls-certificate", 0, "FILE", "certificate for *.NAME, with its chain", false},
      {"tls-key", 0, "FILE", "its private key", false},
      {"behind-tls", 0, "", "something in front of it speaks TLS with browsers: they use https://",
       false},
      {"config", 0, "FILE", "YAML file of these settings (/etc/dove/proxy.yaml)", false},
  };
  const auto more = log_level_specs();
  spec.options.insert(spec.options.end() - 1, more.begin(), more.end());
  return spec;
}

Error bad_setting(const char* option, const std::string& why) {
  return Error{ErrorKind::kInvalid, "bad_setting", fmt::format("{}: {}", option, why), option};
}

Result<wire::Credentials> read_certificate(const std::string& chain, const std::string& key) {
  wire::Credentials own;
  TRY_ASSIGN(own.chain_pem, files::read_text(chain, kFileBytesMax));
  TRY_ASSIGN(own.key_pem, files::read_text(key, kFileBytesMax));
  if (const auto fit = wire::belong_together(own); !fit.ok()) {
    return Error{fit.error().kind, fit.error().code,
                 fmt::format("{}: {}", chain, fit.error().message), chain};
  }
  return own;
}

// Takes a new pair of files from the next connection on.
class CertificateFiles {
 public:
  CertificateFiles(wire::Loop& loop, std::shared_ptr<wire::Tls> tls, std::string chain,
                   std::string key)
      : loop_(loop), tls_(std::move(tls)), chain_(std::move(chain)), key_(std::move(key)) {
    look();
  }

 private:
  void look() {
    timer_ = loop_.after(kLookAtFiles, [this] { look(); });
    const auto own = read_certificate(chain_, key_);
    const bool shown = own.ok() && tls_->show(*own).ok();
    if (shown) return;
    telemetry::log(telemetry::Level::kWarning, "certificate_unreadable", {{"file", chain_}});
  }

  wire::Loop& loop_;
  const std::shared_ptr<wire::Tls> tls_;
  const std::string chain_;
  const std::string key_;
  wire::Timer timer_;
};

struct ProxySettings {
  proxy::ProxyOptions options;
  std::string sessions_url;
  std::shared_ptr<wire::Tls> tls;
  std::string certificate;
  std::string key;
};

Result<void> read_tls(const Settings& given, ProxySettings& settings) {
  settings.certificate = given.text("tls-certificate", "");
  settings.key = given.text("tls-key", "");
  if (settings.certificate.empty() != settings.key.empty()) {
    return bad_setting("--tls-key", "--tls-certificate and --tls-key belong together");
  }
  if (settings.certificate.empty()) return {};
  wire::TlsServerOptions options;
  TRY_ASSIGN(options.own, read_certificate(settings.certificate, settings.key));
  options.allows_1_2 = true;  // of browsers
  TRY_ASSIGN(settings.tls, wire::Tls::for_server(options));
  settings.options.tls = settings.tls;
  return {};
}

Result<void> read_origins(const Settings& given, ProxySettings& settings) {
  TRY_ASSIGN(const bool behind_tls, given.flag("behind-tls"));
  OriginSettings origin;
  origin.secure = settings.tls != nullptr || behind_tls;
  origin.domain = given.text("domain", "");
  origin.ports = given.text("ports", kUsualPorts);
  origin.host = settings.options.host;
  if (!origin.domain.empty() && given.has("ports")) {
    return bad_setting("--ports", "give --domain or --ports, not both");
  }
  const std::int64_t usual = settings.tls != nullptr ? 443 : 80;
  TRY_ASSIGN(const std::int64_t port, given.integer("port", usual, 1, 65'535));
  TRY_ASSIGN(const std::int64_t named,
             given.integer("public-port", behind_tls ? 443 : port, 1, 65'535));
  settings.options.port = static_cast<std::uint16_t>(port);
  origin.port = static_cast<std::uint16_t>(named);
  TRY_ASSIGN(settings.sessions_url, sessions_url_of(origin));
  settings.options.origins = *text::SessionOrigins::parse(settings.sessions_url);
  // Everybody on the network could take a session's cookie, or sit between.
  const std::string& host = settings.options.host;
  const bool is_local = host.starts_with("127.") || host == "localhost" || host == "::1";
  if (origin.secure || is_local) return {};
  return bad_setting("--tls-certificate",
                     "beyond loopback sessions need TLS: give a certificate, or --behind-tls where "
                     "something before the proxy has it");
}

Result<void> read_api(const Settings& given, ProxySettings& settings) {
  const std::string text = given.text("url", "http://127.0.0.1:7717");
  TRY(may_show_secrets(given, text));  // those of browsers
  std::string authorities_pem;
  if (const std::string file = given.text("ca-file", ""); !file.empty()) {
    TRY_ASSIGN(authorities_pem, files::read_filled(file, kFileBytesMax));
  }
  TRY_ASSIGN(wire::Controllers controllers, wire::Controllers::read(text, authorities_pem));
  settings.options.api = std::make_shared<wire::Controllers>(std::move(controllers));
  settings.options.public_url = given.text("public-url", "");
  while (settings.options.public_url.ends_with('/')) settings.options.public_url.pop_back();
  if (!settings.options.public_url.empty()) {
    TRY(wire::parse_server_url(settings.options.public_url));
  }
  return {};
}

Result<ProxySettings> settings_of(const cli::Invocation& invocation) {
  TRY_ASSIGN(const Settings given, Settings::load(spec(), invocation));
  TRY(set_log_level(given, "info"));
  ProxySettings settings;
  settings.options.host = given.text("host", "127.0.0.1");
  TRY(read_api(given, settings));
  TRY(read_tls(given, settings));
  TRY(read_origins(given, settings));
  return settings;
}

int fail(const Error& error) {
  fmt::print(stderr, "dove proxy: {}\n", error.message);
  return cli::exit_code(error);
}

int run(const cli::Invocation& invocation) {
  const Result<ProxySettings> settings = settings_of(invocation);
  if (!settings.ok()) return fail(settings.error());
  wire::Loop loop;
  ServiceNotice notice(loop);
  proxy::Proxy proxy(loop, settings->options);
  if (const Result<void> listening = proxy.listen(); !listening.ok()) {
    return fail(listening.error());
  }
  std::unique_ptr<CertificateFiles> files;
  if (settings->tls != nullptr) {
    files = std::make_unique<CertificateFiles>(loop, settings->tls, settings->certificate,
                                               settings->key);
  }
  loop.on_signal({SIGTERM, SIGINT}, [&](int) {
    notice.stopping();
    loop.stop();
  });
  notice.ready("sessions at " + settings->sessions_url,
               [&](std::function<void()> alive) { loop.post(std::move(alive)); });
  fmt::print("dove proxy: ready; --sessions-url {}\n", settings->sessions_url);
  std::fflush(stdout);
  loop.run();
  return cli::kExitOk;
}

}  // namespace

cli::Command proxy_command() { return {spec(), run}; }

}  // namespace dove::programs
