// Variables by which the dynamic loader and the C library bring in a user's code or files. Pure.
#pragma once

#include <string_view>

namespace dove::text {

// Whether a program that is not the user's own must not get it from the user.
inline bool is_loader_variable(std::string_view name) {
  return name.starts_with("LD_") || name == "GLIBC_TUNABLES" || name == "GCONV_PATH" ||
         name == "LOCPATH" || name == "NLSPATH" || name == "RES_OPTIONS" || name == "HOSTALIASES";
}

}  // namespace dove::text
