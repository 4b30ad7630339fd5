// PlainWords: what a client of plain HTTP is told that came to a port of TLS. For the files of
// wire/ alone. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace dove::wire {

// Whether a peer's first bytes are no handshake but a request of HTTP.
bool spoke_plainly(std::string_view first);
// The whole answer.
std::string speak_tls();

}  // namespace dove::wire
