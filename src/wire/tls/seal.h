// Seals text for the owner of a certificate's key: CMS (RFC 5652, 5083) with AES-256-GCM, as PEM,
// which `openssl cms -decrypt` opens, too. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::wire {

// Errors: bad_certificate; cannot_seal where its key is of no use for that.
Result<std::string> seal(std::string_view text, const std::string& certificate_pem);
// Errors: bad_key; kDenied cannot_unseal: it was sealed for another key, or changed since.
Result<std::string> unseal(const std::string& sealed, const std::string& key_pem);

}  // namespace dove::wire
