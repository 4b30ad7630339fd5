#include "programs/server/shared_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "cli/cli.h"
#include "files/text_file.h"
#include "listener/own_keys.h"
#include "store/sqlite/sqlite_store.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::programs {
namespace {

constexpr std::size_t kFileBytesMax = 64 << 10;
constexpr char kOwnTerm[] = "/own_term";

// "" where one is missing.
std::string keys_digest(const std::string& data_dir) {
  const std::string secret = files::text_or_empty(data_dir + "/secret", kFileBytesMax);
  const std::string identity = files::text_or_empty(data_dir + "/identity.pem", kFileBytesMax);
  if (secret.empty() || identity.empty()) return "";
  return wire::sha256_hex("dove keys\n" + secret + "\n" + identity);
}

Error keys_differ(const std::string& data_dir) {
  return {ErrorKind::kConflict, "keys_differ",
          fmt::format(
              "{} does not hold the keys of the controllers that share this log: copy "
              "secret, secrets.key, token, identity.pem, ssh_gateway_token, keys.sha256 and ca.* "
              "from the data directory of one of them (docs/operate/standby.md)",
              data_dir),
          data_dir};
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

bool is_anywhere(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

}  // namespace

std::string name_of_this(const ServerSettings& settings) {
  return fmt::format("{}:{}", host_name(), settings.port);
}

std::string url_of(const ServerSettings& settings, std::uint16_t port) {
  if (!settings.advertised.empty()) return settings.advertised;
  std::string host = settings.host;
  if (is_anywhere(host)) host = settings.store.empty() ? "127.0.0.1" : host_name();
  return fmt::format("{}://{}:{}", settings.tls.on ? "https" : "http", host, port);
}

Result<std::unique_ptr<store::PostgresStore>> open_shared(const ServerSettings& settings) {
  const std::string data = settings.data_dir;
  if (access((data + "/log.sqlite").c_str(), F_OK) == 0) {
    return Error{ErrorKind::kConflict, "log_is_here",
                 fmt::format("{} holds a log already, which --store would leave behind: give "
                             "another directory with --data, or start without --store",
                             data),
                 data};
  }
  store::PostgresOptions options;
  options.url = settings.store;
  options.leads_at = url_of(settings, settings.port);
  options.lease_us = settings.lease_us;
  options.name = name_of_this(settings);
  options.version = cli::version();
  TRY_ASSIGN(auto store, store::PostgresStore::open(std::move(options)));
  TRY_ASSIGN(const std::string keys, store->agreed_keys(""));
  if (!keys.empty() && keys != keys_digest(data)) {
    TRY(listener::check_own_secret(data));
    return keys_differ(data);
  }
  // An authority is made where there is none, but only by the first.
  const bool has_authority = access((data + "/ca.pem").c_str(), F_OK) == 0;
  if (!keys.empty() && settings.tls.on && !has_authority) return keys_differ(data);
  TRY_ASSIGN(const std::optional<std::string> open_to, store->open_to());
  if (open_to) {
    telemetry::log(telemetry::Level::kWarning, "store_not_encrypted",
                   {{"address", *open_to},
                    {"effect", "jobs' environments and hashes of passwords can be read on the way"},
                    {"remedy",
                     "TLS for PostgreSQL, and sslmode=verify-full in the URL; "
                     "docs/operate/standby.md"}});
  }
  TRY(files::write_atomically(data + "/" + store::kSharedLogMark, "", 0644));
  return store;
}

notices::Place shared_notices(store::PostgresStore& store, const std::string& data_dir) {
  static constexpr char kNotices[] = "notices";
  static constexpr int kTries = 3;
  const notices::Place file = notices::file_place(data_dir + "/notices.json");
  // What could not be read is not written over: the next leader may read it.
  const auto is_unread = std::make_shared<std::atomic<bool>>(false);
  return {[&store, file, is_unread]() -> Result<std::string> {
            Result<std::string> kept = store.kept_text(kNotices);
            for (int i = 1; i < kTries && !kept.ok() && kept.error().kind != ErrorKind::kNotFound;
                 ++i) {
              kept = store.kept_text(kNotices);
            }
            const bool is_first = !kept.ok() && kept.error().kind == ErrorKind::kNotFound;
            *is_unread = !kept.ok() && !is_first;
            return is_first ? file.read() : kept;
          },
          [&store, is_unread](const std::string& text) -> Result<void> {
            if (!*is_unread) return store.keep_text(kNotices, text);
            return Error{ErrorKind::kUnavailable, "notices_unread",
                         "what was kept of them could not be read, and is not written over", ""};
          }};
}

SharedAuthorities::Place shared_authorities(store::PostgresStore& store) {
  static constexpr char kAuthorities[] = "authorities";
  return {[&store] { return store.kept_text(kAuthorities); },
          [&store](const std::string& text) { return store.keep_text(kAuthorities, text); }};
}

bool agrees_on_keys(store::PostgresStore& store, const std::string& data_dir) {
  const Result<std::string> keys = store.agreed_keys("");
  return keys.ok() && !keys->empty() && *keys == keys_digest(data_dir);
}

Result<void> agree_on_keys(store::PostgresStore& store, const std::string& data_dir) {
  const std::string mine = keys_digest(data_dir);
  TRY_ASSIGN(const std::string keys, store.agreed_keys(mine));
  if (keys != mine) return keys_differ(data_dir);
  return {};
}

void keep_url(const std::string& data_dir, const std::string& url) {
  const std::string path = data_dir + "/url";
  if (files::text_or_empty(path, kFileBytesMax) == url + "\n") return;
  const Result<void> kept = files::write_atomically(path, url + "\n", 0644);
  if (kept.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "url_not_kept",
                 {{"why", kept.error().message},
                  {"effect", fmt::format("commands on this machine need --url {}", url)}});
}

std::uint64_t own_term(const std::string& data_dir) {
  const std::string kept = files::text_or_empty(data_dir + kOwnTerm, kFileBytesMax);
  std::uint64_t epoch = 0;
  std::from_chars(kept.data(), kept.data() + kept.size(), epoch);
  return epoch;
}

Result<void> keep_own_term(const std::string& data_dir, std::uint64_t epoch) {
  return files::write_atomically(data_dir + kOwnTerm, std::to_string(epoch) + "\n", 0644);
}

}  // namespace dove::programs
