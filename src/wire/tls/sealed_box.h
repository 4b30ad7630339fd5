// Text encrypted with a key that this program keeps itself: AES-256-GCM with a random nonce.
//
// The nonce is drawn for each text, so one key is good for about 2^32 of them. Pure except for
// random numbers, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::wire {

constexpr std::size_t kBoxKeyBytes = 32;

// As many random bytes of the kernel.
std::string random_bytes(std::size_t count);

std::string base64(std::string_view bytes);
// Errors: bad_base64.
Result<std::string> from_base64(std::string_view text);

// As base64. `about` is not in it, and without the same text it does not open. REQUIRES: `key` has
// kBoxKeyBytes.
std::string seal_box(std::string_view key, std::string_view plain, std::string_view about);
// Errors: kDenied cannot_unseal: it was sealed by another key, about something else, or changed.
Result<std::string> open_box(std::string_view key, std::string_view sealed, std::string_view about);

// Overwrites the text, so that it is not left in memory that others get, and empties it.
void wipe(std::string& text);

}  // namespace dove::wire
