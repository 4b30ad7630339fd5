// MD5 (RFC 1321), which tuxiv names unnamed environments by. For names only: it protects nothing.
#pragma once

#include <string>
#include <string_view>

namespace dove::jobfiles {

// 32 lower-case hexadecimal digits: of MD5, or where a host forbids it the first of SHA-256. Pure.
std::string md5_hex(std::string_view text);

}  // namespace dove::jobfiles
