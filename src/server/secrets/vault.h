// Vault: the server's keys for secrets, and the values sealed with them.
//
// The keys lie in a file of the data directory (mode 0600), one a line in hexadecimal digits; the
// first seals, all of them open. A value is sealed together with the path of its secret, so that it
// cannot be presented as another secret's. Nothing here is ever logged. The file is read when a
// value names an unknown key, and written by rotations; both are rare. A file that cannot be read,
// or that holds anything but keys, is never overwritten. Loop thread only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/secret.h"

namespace dove::server {

class Vault {
 public:
  explicit Vault(std::string path) : path_(std::move(path)) {}
  ~Vault();
  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;

  // Whether all that is kept can be opened. A controller with a key of its own beside those of the
  // others would seal what they cannot open. Errors: kUnavailable secrets_key_missing,
  // secrets_key_damaged; file_unreadable.
  Result<void> check(const std::map<std::string, Secret>& kept);
  // What the state keeps: "KEY:BASE64". Makes the first key where there is none. REQUIRES: check()
  // of what is kept. Errors: as check(); file_unwritable.
  Result<std::string> seal(const std::string& path, std::string_view value);
  // The value. Whoever gets it wipes it. Errors: kUnavailable secrets_key_missing,
  // secrets_key_damaged; file_unreadable; kDenied cannot_unseal.
  Result<std::string> open(const Secret& secret);

  // A new key seals from now on; the former ones still open, until end_rotation(). None is made
  // where a key of those that are kept is missing: it would stay beside the one to be put there.
  // Errors: as seal().
  Result<void> begin_rotation(const std::map<std::string, Secret>& kept);
  Result<void> end_rotation();

 private:
  struct Key {
    std::string id;
    std::string bytes;
  };
  const Key* find(std::string_view id) const;
  Result<const Key*> key_of_secret(const Secret& secret);
  Result<void> read();
  Result<void> write() const;
  void forget();
  Error missing(std::string_view what) const;

  std::string path_;
  std::vector<Key> keys_;
};

}  // namespace dove::server
