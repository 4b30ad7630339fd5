// The cookie of a browser that has signed in, and what a request that it comes with has to show.
//
// A browser sends a cookie whatever page makes it call. So a call that changes something, and one
// that opens a WebSocket, must say by its Origin that our own page makes it (OWASP, Cross-Site
// Request Forgery Prevention); others could not read the answers of the rest. The name's prefix
// makes browsers refuse the cookie from other hosts (RFC 6265bis, 4.1.3.2). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/http.h"

namespace dove::listener {

// What the request's cookie holds; nothing: it has none of ours.
std::optional<std::string_view> session_of(const wire::Request& request);

// Errors: kDenied cross_origin.
Result<void> check_origin(const wire::Request& request);

// The cookie of a browser that is at a sign-in service, which comes back from there: another site
// sends it (SameSite=Lax). It is good for that alone.
std::optional<std::string_view> sign_in_of(const wire::Request& request);
std::string set_sign_in(std::string_view sealed);
std::string end_sign_in();

// Values of Set-Cookie.
std::string set_session(std::string_view secret, std::int64_t seconds);
std::string end_session();

}  // namespace dove::listener
