// ServerTls: what a controller shows to people and agents: the cluster's authority, made at the
// first start, and certificates that are renewed while it runs.
//
// DATA/ca.pem and DATA/ca.key (0600) are the authority; the controller's own key lives in memory
// alone, and its certificate is made anew at each start and every third of its 30 days. A site's
// own certificate (site_certificate.h) is shown to people in its place. All files are looked at
// every few seconds. Loop thread only.
//
// Certificates and keys begin, end and are judged by the time of the cluster, never by the
// machine's clock: one that leaps ends no node's certificate, and makes none that other machines do
// not take.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "files/file_marks.h"
#include "programs/server/site_certificate.h"
#include "programs/service/authorities.h"
#include "server/server.h"
#include "wire/loop.h"

namespace dove::programs {

class Settings;

struct TlsSettings {
  bool on = false;
  std::vector<std::string> names;  // besides those of this machine
  std::string certificate_path;    // "": the authority makes one
  std::string key_path;
  bool allows_1_2 = false;
  std::uint16_t agents_port = 0;
  std::int64_t node_valid_s = 24 * 3600;
};

// Beyond loopback TLS is on, unless --insecure says that the network is trusted. Errors name the
// setting.
Result<TlsSettings> tls_settings(const Settings& given, const std::string& host,
                                 std::uint16_t port);
std::vector<cli::OptionSpec> tls_option_specs();

class ServerTls {
 public:
  // `now_us`: the time of the cluster (controller/controller.h). Errors name the file and the
  // remedy.
  static Result<std::unique_ptr<ServerTls>> open(wire::Loop& loop, const TlsSettings& settings,
                                                 const std::string& data_dir,
                                                 const std::string& host,
                                                 std::function<std::int64_t()> now_us);
  server::ApiTls for_api() const;
  // Now, as it does every few seconds: takes what `dove ca rotate`, or a leader that this one
  // follows, changed in files, and renews its own certificate. What is open goes on.
  void keep_fresh();
  // Told now and whenever another authority is to be followed (service/authorities.h).
  void on_authorities(std::function<void(const server::ApiAuthorities&)> call);

 private:
  ServerTls(wire::Loop& loop, TlsSettings settings, std::string data_dir, Authorities authorities,
            std::vector<std::string> names, std::function<std::int64_t()> now_s);
  Result<wire::Credentials> own_certificate() const;
  void look_at_authorities();
  void show_own();
  void take_psks();
  void tell_authorities();

  wire::Loop& loop_;
  const TlsSettings settings_;
  const std::string data_dir_;
  Authorities authorities_;
  files::FileMarks marks_;  // of their files
  std::function<void(const server::ApiAuthorities&)> on_authorities_;
  const std::vector<std::string> names_;
  const std::function<std::int64_t()> now_s_;
  const std::string key_pem_;
  std::unique_ptr<SiteCertificate> site_;  // none: people are shown the authority's
  std::shared_ptr<wire::Tls> people_;
  std::shared_ptr<wire::Tls> agents_;
  std::int64_t made_s_ = 0;
  std::string authority_trouble_;  // what was wrong at the last look; "": nothing
  wire::Timer timer_;
};

}  // namespace dove::programs
