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

void Vault::read() {
  std::string text = files::text_or_empty(path_, kFileBytesMax);
  forget();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string key = key_of(line);
    if (!key.empty()) keys_.push_back({id_of(key), key});
    wire::wipe(key);
    wire::wipe(line);
  }
  wire::wipe(text);
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

Result<std::string> Vault::seal(const std::string& path, std::string_view value, bool is_first) {
  if (keys_.empty()) read();
  if (keys_.empty()) {
    if (!is_first) return missing("what is there");
    TRY(begin_rotation());
  }
  const Key& key = keys_.front();
  return key.id + ":" + wire::seal_box(key.bytes, value, path);
}

Result<std::string> Vault::open(const Secret& secret) {
  const std::size_t colon = std::min(secret.sealed.find(':'), secret.sealed.size());
  const std::string_view sealed = secret.sealed;
  const std::string_view id = sealed.substr(0, colon);
  if (find(id) == nullptr) read();
  const Key* key = find(id);
  if (key == nullptr) return missing(secret.name);
  return wire::open_box(key->bytes, sealed.substr(std::min(colon + 1, sealed.size())), secret.name);
}

Result<void> Vault::begin_rotation() {
  read();
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
