#include "server/secrets/vault.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "files/text_file.h"
#include "wire/secret.h"
#include "wire/tls/sealed_box.h"

namespace dove::server {
namespace {

constexpr std::size_t kFileBytesMax = 64 << 10;

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// "" when it is not the hexadecimal digits of a key.
std::string key_of(std::string_view hex) {
  if (hex.size() != 2 * wire::kBoxKeyBytes) return "";
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return "";
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

// Tells keys apart, and says nothing of them.
std::string id_of(const std::string& key) {
  return wire::hmac_sha256_hex(key, "dove secrets key").substr(0, 12);
}

}  // namespace

Vault::~Vault() { forget(); }

void Vault::forget() {
  for (Key& key : keys_) wire::wipe(key.bytes);
  keys_.clear();
}

const Vault::Key* Vault::find(std::string_view id) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& key) { return key.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

Result<void> Vault::read() {
  Result<std::string> text = files::read_text(path_, kFileBytesMax);
  if (!text.ok() && text.error().kind != ErrorKind::kNotFound) return text.error();
  std::vector<Key> keys;
  bool whole = true;
  std::istringstream lines(text.ok() ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    std::string key = key_of(line);
    whole = whole && (line.empty() || !key.empty());
    if (!key.empty()) keys.push_back({id_of(key), key});
    wire::wipe(key);
    wire::wipe(line);
  }
  if (text.ok()) wire::wipe(*text);
  keys_.swap(keys);
  for (Key& former : keys) wire::wipe(former.bytes);
  if (whole) return {};
  forget();
  return Error{ErrorKind::kUnavailable, "secrets_key_damaged",
               fmt::format("{} has a line that is not a key of {} hexadecimal digits: repair the "
                           "file, or restore it from a backup",
                           path_, 2 * wire::kBoxKeyBytes),
               "secret"};
}

Result<void> Vault::write() const {
  std::string text;
  for (const Key& key : keys_) text += hex_of(key.bytes) + "\n";
  const Result<void> written =
      files::write_atomically(path_, text, 0600, files::Survives::kPowerCut);
  wire::wipe(text);
  return written;
}

Error Vault::missing(std::string_view what) const {
  return {ErrorKind::kUnavailable, "secrets_key_missing",
          fmt::format("{} was sealed with a key that this server does not have: put the file "
                      "secrets.key of the server that sealed it, or of a backup, at {}, or remove "
                      "the secrets and set them again",
                      what, path_),
          "secret"};
}

Result<void> Vault::check(const std::map<std::string, Secret>& kept) {
  for (const auto& [path, secret] : kept) TRY(key_of_secret(secret));
  return {};
}

Result<std::string> Vault::seal(const std::string& path, std::string_view value) {
  if (keys_.empty()) TRY(read());
  // Nothing is kept: all that is has its key.
  if (keys_.empty()) TRY(begin_rotation({}));
  const Key& key = keys_.front();
  return key.id + ":" + wire::seal_box(key.bytes, value, path);
}

Result<const Vault::Key*> Vault::key_of_secret(const Secret& secret) {
  const std::string_view id = std::string_view(secret.sealed).substr(0, secret.sealed.find(':'));
  if (find(id) == nullptr) TRY(read());
  const Key* key = find(id);
  if (key == nullptr) return missing(secret.name);
  return key;
}

Result<std::string> Vault::open(const Secret& secret) {
  TRY_ASSIGN(const Key* key, key_of_secret(secret));
  const std::string_view sealed = secret.sealed;
  const std::size_t colon = std::min(sealed.find(':'), sealed.size());
  return wire::open_box(key->bytes, sealed.substr(std::min(colon + 1, sealed.size())), secret.name);
}

Result<void> Vault::begin_rotation(const std::map<std::string, Secret>& kept) {
  TRY(read());
  TRY(check(kept));
  std::string key = wire::random_bytes(wire::kBoxKeyBytes);
  keys_.insert(keys_.begin(), Key{id_of(key), key});
  wire::wipe(key);
  const Result<void> written = write();
  if (!written.ok()) {
    wire::wipe(keys_.front().bytes);
    keys_.erase(keys_.begin());
  }
  return written;
}

Result<void> Vault::end_rotation() {
  for (std::size_t i = 1; i < keys_.size(); ++i) wire::wipe(keys_[i].bytes);
  keys_.resize(std::min<std::size_t>(keys_.size(), 1));
  return write();
}

}  // namespace dove::server
