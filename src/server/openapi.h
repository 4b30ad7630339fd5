// The text of api/openapi.yaml, which is part of the program.
//
// The build writes its source (src/CMakeLists.txt) from api/openapi.yaml. Pure.
#pragma once

#include <string_view>

namespace dove::server {

std::string_view openapi_text();

}  // namespace dove::server
