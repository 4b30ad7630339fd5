// What AsyncClient's two files share: the bytes of a request, and the making of streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "wire/http.h"
#include "wire/incoming.h"
#include "wire/loop.h"

namespace dove::wire {

// The request as it goes on the wire. `keep_alive`: the connection is to stay open.
std::string request_bytes(const Request& request, const std::string& host, std::uint16_t port,
                          bool keep_alive);

std::unique_ptr<InStream> open_in_stream(Loop& loop, const std::string& host, std::uint16_t port,
                                         const Request& request, StreamCallbacks callbacks,
                                         const AsyncClientOptions& options);

}  // namespace dove::wire
