#include "ssh/keys/public_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace dove::ssh {
namespace {

constexpr std::size_t kLineBytesMax = 4096;
constexpr std::size_t kCommentBytesMax = 256;
constexpr int kRsaLeast_bits = 2048;
constexpr int kRsaGood_bits = 3072;

constexpr std::string_view kRsa = "ssh-rsa";

// What a key is made of after its name: this number of strings, the first of which may be shown.
struct Kind {
  std::string_view name;
  std::size_t strings = 0;
  std::string_view curve = {};
  std::size_t point_bytes = 0;  // of the last string but an application's; 0: any
};
constexpr std::array kKinds = {
    Kind{"ssh-ed25519", 1, "", 32},
    Kind{"sk-ssh-ed25519@openssh.com", 2, "", 32},
    Kind{"ecdsa-sha2-nistp256", 2, "nistp256", 65},
    Kind{"ecdsa-sha2-nistp384", 2, "nistp384", 97},
    Kind{"ecdsa-sha2-nistp521", 2, "nistp521", 133},
    Kind{"sk-ecdsa-sha2-nistp256@openssh.com", 3, "nistp256", 65},
    Kind{kRsa, 2},
};

Error refused(const char* code, std::string message) {
  return Error{ErrorKind::kInvalid, code, std::move(message), "key"};
}

Error bad(const std::string& why) {
  return refused("bad_ssh_key", why +
                                    "; give the one line of the file that ends in .pub, as "
                                    "`ssh-keygen -t ed25519` makes it");
}

const Kind* find_kind(std::string_view name) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const Kind& each) { return each.name == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

// Strings, each with four bytes of length before it (RFC 4251, 5). Error: there is more, or less.
Result<std::vector<std::string_view>> strings_of(std::string_view bytes) {
  std::vector<std::string_view> out;
  while (!bytes.empty()) {
    if (bytes.size() < 4) return bad("the key is cut off");
    std::uint32_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
    bytes.remove_prefix(4);
    if (size > bytes.size()) return bad("the key is cut off");
    out.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return out;
}

int bits_of(std::string_view number) {
  while (!number.empty() && number.front() == 0) number.remove_prefix(1);
  if (number.empty()) return 0;
  const auto first = static_cast<unsigned char>(number.front());
  return static_cast<int>((number.size() - 1) * 8) + std::bit_width(first);
}

Result<void> check_rsa(PublicKey& key, std::string_view modulus) {
  key.bits = bits_of(modulus);
  if (key.bits < kRsaLeast_bits) {
    return refused("weak_ssh_key",
                   fmt::format("an RSA key of {} bits is too weak, {} is the least; make another "
                               "one with `ssh-keygen -t ed25519`",
                               key.bits, kRsaLeast_bits));
  }
  if (key.bits < kRsaGood_bits) {
    key.warning = fmt::format(
        "an RSA key of {} bits is weaker than is advised ({}); "
        "`ssh-keygen -t ed25519` makes a better one",
        key.bits, kRsaGood_bits);
  }
  return {};
}

Result<void> check_body(const Kind& kind, PublicKey& key) {
  TRY_ASSIGN(const std::string bytes, decode_base64(key.body));
  TRY_ASSIGN(const std::vector<std::string_view> strings, strings_of(bytes));
  if (strings.empty() || strings.front() != kind.name) {
    return bad(fmt::format("the line says {}, and the key in it is another one", kind.name));
  }
  if (strings.size() != kind.strings + 1) return bad("the key is not whole");
  if (kind.name == kRsa) return check_rsa(key, strings[2]);
  if (!kind.curve.empty() && strings[1] != kind.curve) return bad("the key is on another curve");
  const std::string_view point = strings[kind.curve.empty() ? 1 : 2];
  if (point.size() != kind.point_bytes) return bad("the key is not whole");
  return {};
}

// Why the first word names no kind that is taken.
Error refuse_kind(std::string_view word) {
  if (word == "ssh-dss") {
    return refused("weak_ssh_key",
                   "DSA keys are too weak; make another one with `ssh-keygen -t ed25519`");
  }
  if (word.find("-cert-v01@") != std::string_view::npos) {
    return bad("certificates are not taken");
  }
  const bool is_key = word.starts_with("ssh-") || word.starts_with("ecdsa-") ||
                      word.starts_with("sk-") || word.starts_with("rsa-");
  if (is_key) {
    return refused("weak_ssh_key",
                   fmt::format("keys of the kind {} are not known to be strong; make another one "
                               "with `ssh-keygen -t ed25519`",
                               word.substr(0, 64)));
  }
  return bad("this is no public key of SSH");
}

bool is_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7F;
  });
}

}  // namespace

std::string PublicKey::line() const {
  return comment.empty() ? kind + " " + body : kind + " " + body + " " + comment;
}

Result<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t held = 0;
  int bits = 0;
  const std::size_t end = std::min(text.find('='), text.size());
  if (text.size() % 4 != 0 || text.size() - end > 2) return bad("the key is cut off");
  for (const char c : text.substr(0, end)) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t value = kLetters.find(c);
    if (value == std::string_view::npos) return bad("the key has a letter that base64 has not");
    held = held << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out.push_back(static_cast<char>(held >> bits & 0xFF));
  }
  const bool is_canonical = text.substr(end).find_first_not_of('=') == std::string_view::npos &&
                            (held & ((1U << bits) - 1)) == 0;
  if (!is_canonical) return bad("the key is cut off");
  return out;
}

Result<PublicKey> read_public_key(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (text.find("PRIVATE KEY") != std::string_view::npos) {
    return refused("private_ssh_key",
                   "this is a private key, which is to stay with you: give the file that ends in "
                   ".pub, and make a new key if others have seen this one");
  }
  if (text.size() > kLineBytesMax) return bad("the line is longer than 4096 bytes");
  if (!is_text(text)) return bad("a key is one line of text");
  PublicKey key;
  const std::string_view whole = text;
  key.kind = next_word(text);
  const Kind* kind = find_kind(key.kind);
  if (kind == nullptr) {
    for (const Kind& each : kKinds) {
      if (whole.find(fmt::format(" {} ", each.name)) == std::string_view::npos) continue;
      return refused("ssh_key_options",
                     "options before a key are not taken; give it without them: what a connection "
                     "may do is set by the job's user and roles");
    }
    return refuse_kind(key.kind);
  }
  key.body = next_word(text);
  TRY(check_body(*kind, key));
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  key.comment = text.substr(begin, kCommentBytesMax);
  while (!key.comment.empty() && key.comment.back() == ' ') key.comment.pop_back();
  return key;
}

}  // namespace dove::ssh
