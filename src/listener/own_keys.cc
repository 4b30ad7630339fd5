#include "listener/own_keys.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "accounts/access.h"
#include "files/text_file.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::listener {
namespace {

constexpr std::size_t kFileBytesMax = 4096;
constexpr std::size_t kDigestChars = 64;
constexpr std::size_t kKeyCharsMin = 16;
constexpr const char kDigests[] = "keys.sha256";
constexpr std::array<std::string_view, 3> kNames{"secret", "token", "ssh_gateway_token"};

// By name. While a token is replaced it has two: the file is the one or the other.
using Digests = std::map<std::string, std::set<std::string>, std::less<>>;

std::string path_of(const std::string& data_dir, std::string_view name) {
  return fmt::format("{}/{}", data_dir, name);
}

Error file_error(const Error& error) {
  return Error{ErrorKind::kInvalid, "data_dir",
               error.message + "; the server needs to read and write its data directory",
               error.field};
}

Error damaged(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kCorrupt, "key_damaged",
               fmt::format("{} {}; docs/operate/recovery.md, \"a key is damaged\"", path, why),
               path};
}

Error damaged_digests(const std::string& data_dir) {
  return damaged(path_of(data_dir, kDigests),
                 "is damaged: restore it from a backup; or, once you know that the keys beside it "
                 "are right, remove it, and the next start makes another");
}

Result<void> write(const std::string& path, const std::string& text) {
  const auto written = files::write_atomically(path, text, 0600, files::Survives::kPowerCut);
  if (!written.ok()) return file_error(written.error());
  return {};
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return Error{ErrorKind::kInvalid, "data_dir",
               fmt::format("{}: {}; the server needs to write its data directory", path,
                           std::strerror(errno)),
               path};
}

// Whether the file has that text, on the disk or not.
bool restore(const std::string& path, const std::string& text) {
  return write(path, text).ok() || files::text_or_empty(path, kFileBytesMax) == text;
}

bool is_digest(std::string_view text) {
  return text.size() == kDigestChars &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Empty where there is no file yet.
Result<Digests> read_digests(const std::string& data_dir) {
  const Result<std::string> text = files::read_text(path_of(data_dir, kDigests), kFileBytesMax);
  if (!text.ok() && text.error().kind == ErrorKind::kNotFound) return Digests();
  if (!text.ok()) return file_error(text.error());
  Digests all;
  std::string_view left = *text;
  while (!left.empty()) {
    const std::size_t end = left.find('\n');
    if (end == std::string_view::npos) return damaged_digests(data_dir);
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(end + 1);
    const std::string_view digest = line.substr(0, kDigestChars);
    const std::string_view rest = line.substr(digest.size());
    const std::string_view name = rest.starts_with("  ") ? rest.substr(2) : "";
    const bool is_known = std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (!is_digest(digest) || !is_known) return damaged_digests(data_dir);
    all[std::string(name)].insert(std::string(digest));
  }
  if (all.empty()) return damaged_digests(data_dir);  // emptied
  return all;
}

Result<void> write_digests(const std::string& data_dir, const Digests& all) {
  std::string text;
  for (const auto& [name, digests] : all) {
    for (const std::string& digest : digests) text += fmt::format("{}  {}\n", digest, name);
  }
  return write(path_of(data_dir, kDigests), text);
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
                  {"remedy", "`dove token rotate`, or a new secret: docs/operate/recovery.md"}});
}

std::string word_of(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// What the remedy is besides the backup.
std::string otherwise(std::string_view name) {
  if (name == "secret") {
    return fmt::format(
        "without one, remove it and {}: the next start makes another, all tokens of "
        "running jobs are void, and all nodes join again",
        kDigests);
  }
  return fmt::format(
      "or remove it, and the next start makes another; one that you put there "
      "yourself is taken once its line in {} is removed",
      kDigests);
}

// The text of the file, which is whole. `is_of_log`: whether the log has that token.
template <class IsOfLog>
Result<std::string> read_whole(const std::string& data_dir, std::string_view name,
                               const Digests& digests, const IsOfLog& is_of_log) {
  const std::string path = path_of(data_dir, name);
  const auto known = digests.find(name);
  Result<std::string> text = files::read_text(path, kFileBytesMax);
  if (!text.ok() && text.error().kind == ErrorKind::kNotFound) {
    const bool was_there = name == "secret" && known != digests.end();
    if (was_there) {
      return damaged(path, "is gone: restore it from a backup; " + otherwise(name));
    }
    return text.error();
  }
  if (!text.ok()) return file_error(text.error());
  const std::string word = word_of(*text);
  if (word.size() < kKeyCharsMin) {
    return damaged(path, "holds no key: restore it from a backup; " + otherwise(name));
  }
  if (known == digests.end() || known->second.contains(wire::sha256_hex(*text))) return text;
  if (name == "token" && is_of_log(word)) return text;
  return damaged(path, fmt::format("is not what {} beside it says, so one of the two was changed: "
                                   "restore both from a backup; {}",
                                   kDigests, otherwise(name)));
}

// Where no log is at hand.
bool is_of_some_log(const std::string& /*token*/) { return true; }

Error another_token(const std::string& path) {
  return Error{ErrorKind::kInvalid, "token_replaced",
               fmt::format("{} is not the token that {} beside it says. The next start takes it "
                           "only if `dove token rotate` made it",
                           path, kDigests),
               path};
}

struct Opening {
  const std::string& data_dir;
  const core::State& state;
  Digests before;
  Digests now;

  bool is_of_log(const std::string& token) const {
    const auto key = state.keys.find(wire::sha256_hex(token));
    return key != state.keys.end() && accounts::is_rotated_token(key->second);
  }
  Result<std::string> open(std::string_view name) {
    const std::string path = path_of(data_dir, name);
    Result<std::string> text = read_whole(
        data_dir, name, before, [this](const std::string& token) { return is_of_log(token); });
    if (!text.ok() && text.error().kind != ErrorKind::kNotFound) return text.error();
    if (!text.ok()) {
      // Where the log has the administrator's token, another one would let nobody in.
      if (name == "token" && accounts::has_administrators_token(state)) return std::string();
      text = wire::random_token(32) + "\n";
      // At every instant the file is one that the digests have, if they have any of that name.
      // Those of one that never was would say that it is gone.
      if (const auto known = before.find(name); known != before.end()) {
        known->second.insert(wire::sha256_hex(*text));
        TRY(write_digests(data_dir, before));
      }
      TRY(write(path, *text));
    }
    close_to_others(path);
    now[std::string(name)] = {wire::sha256_hex(*text)};
    return word_of(*text);
  }
};

}  // namespace

Result<OwnKeys> open_own_keys(const std::string& data_dir, const core::State& state) {
  TRY_ASSIGN(Digests before, read_digests(data_dir));
  Opening opening{data_dir, state, std::move(before), {}};
  OwnKeys keys;
  TRY_ASSIGN(keys.secret, opening.open("secret"));
  TRY_ASSIGN(keys.token, opening.open("token"));
  TRY_ASSIGN(keys.ssh_gateway_token, opening.open("ssh_gateway_token"));
  if (opening.now != opening.before) TRY(write_digests(data_dir, opening.now));
  return keys;
}

std::vector<Error> damages_of_own_keys(const std::string& data_dir) {
  const Result<Digests> digests = read_digests(data_dir);
  if (!digests.ok()) return {digests.error()};
  std::vector<Error> found;
  for (const std::string_view name : kNames) {
    const auto text = read_whole(data_dir, name, *digests, is_of_some_log);
    if (!text.ok() && text.error().kind != ErrorKind::kNotFound) found.push_back(text.error());
    if (!text.ok()) continue;
    const auto known = digests->find(name);
    const bool has = known == digests->end() || known->second.contains(wire::sha256_hex(*text));
    if (!has) found.push_back(another_token(path_of(data_dir, name)));
  }
  return found;
}

Result<void> check_own_secret(const std::string& data_dir) {
  TRY_ASSIGN(const Digests digests, read_digests(data_dir));
  const auto text = read_whole(data_dir, "secret", digests, is_of_some_log);
  if (!text.ok() && text.error().kind != ErrorKind::kNotFound) return text.error();
  return {};
}

Result<void> keep_token(const std::string& data_dir, const std::string& token) {
  const std::string path = path_of(data_dir, "token");
  const Result<std::string> former = files::read_text(path, kFileBytesMax);
  if (!former.ok() && former.error().kind != ErrorKind::kNotFound) {
    return file_error(former.error());
  }
  if (token.empty()) return remove_file(path);
  const std::string text = token + "\n";
  TRY_ASSIGN(Digests digests, read_digests(data_dir));
  // At every instant the file is one that the digests have.
  digests["token"].insert(wire::sha256_hex(text));
  TRY(write_digests(data_dir, digests));
  if (const Result<void> written = write(path, text); !written.ok()) {
    // The new text may have its name already.
    const bool is_former = former.ok() ? restore(path, *former) : remove_file(path).ok();
    if (is_former) return written;
    Error error = written.error();
    error.message += "; the file may hold a token that is not in force, and could not be mended";
    return error;
  }
  // Those of both are good, too: the next start tidies up.
  digests["token"] = {wire::sha256_hex(text)};
  (void)write_digests(data_dir, digests);
  return {};
}

}  // namespace dove::listener
