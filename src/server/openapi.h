// The text of api/openapi.yaml, part of the program.
//
// Its source is written by the build (src/CMakeLists.txt) from api/openapi.yaml. Pure.
#pragma once

#include <string_view>

namespace dove::server {

std::string_view openapi_text();

}  // namespace dove::server
