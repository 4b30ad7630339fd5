// Tokens and digests: the only place that calls OpenSSL's random and hash functions for tokens.
//
// Pure (except random_token), thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dove::wire {

// Takes the same time wherever the two differ (the lengths may show).
bool equal_constant_time(std::string_view a, std::string_view b);

// `bytes` random bytes of the kernel as base64url without padding. 32 is a good token.
std::string random_token(std::size_t bytes);

std::string sha256_hex(std::string_view data);
// With padding; for the handshake of WebSocket alone.
std::string sha1_base64(std::string_view data);
std::string hmac_sha256_hex(std::string_view key, std::string_view data);
// As 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view data);

}  // namespace dove::wire
