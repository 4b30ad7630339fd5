#include "listener/own_keys.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "files/text_file.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::listener {
namespace {

constexpr std::size_t kFileBytesMax = 4096;

Error file_error(const Error& error) {
  return Error{ErrorKind::kInvalid, "data_dir",
               error.message + "; the server needs to read and write its data directory",
               error.field};
}

Result<void> write(const std::string& path, const std::string& secret) {
  const auto written =
      files::write_atomically(path, secret + "\n", 0600, files::Survives::kPowerCut);
  if (!written.ok()) return file_error(written.error());
  return {};
}

Result<std::string> make_secret(const std::string& path) {
  std::string secret = wire::random_token(32);
  TRY(write(path, secret));
  return secret;
}

// Somebody may have read it: whoever runs the server is told, and decides whether to make another.
void close_to_others(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || (facts.st_mode & 077) == 0) return;
  const bool closed = ::chmod(path.c_str(), 0600) == 0;
  telemetry::log(telemetry::Level::kWarning, "secret_was_open",
                 {{"file", path},
                  {"mode", fmt::format("{:o}", facts.st_mode & 0777U)},
                  {"now", closed ? "600" : "unchanged"},
                  {"remedy", "remove the file and start anew: another one is made"}});
}

Result<std::string> read_or_make(const std::string& path, bool makes) {
  Result<std::string> read = files::read_text(path, kFileBytesMax);
  if (!read.ok() && read.error().kind == ErrorKind::kNotFound) {
    return makes ? make_secret(path) : std::string();
  }
  if (!read.ok()) return file_error(read.error());
  close_to_others(path);
  std::string text = std::move(read).value();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.size() < 16) {
    return Error{ErrorKind::kInvalid, "data_dir",
                 path + ": holds no token; remove the file and a new one is made", path};
  }
  return text;
}

}  // namespace

Result<OwnKeys> open_own_keys(const std::string& data_dir, bool makes_token) {
  OwnKeys keys;
  TRY_ASSIGN(keys.token, read_or_make(data_dir + "/token", makes_token));
  TRY_ASSIGN(keys.ssh_gateway_token, read_or_make(data_dir + "/ssh_gateway_token", true));
  TRY_ASSIGN(keys.secret, read_or_make(data_dir + "/secret", true));
  return keys;
}

Result<void> keep_token(const std::string& data_dir, const std::string& token) {
  return write(data_dir + "/token", token);
}

}  // namespace dove::listener
