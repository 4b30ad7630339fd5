// The words of HTTP that pass between wire and its users: plain values, no sockets.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dove::wire {

// Ordered, names may repeat.
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Whether these are names of the same header: equal without regard to case.
bool same_header(std::string_view a, std::string_view b);
// The first value whose name equals `name` without regard to case, or nullptr.
const std::string* find_header(const Pairs& headers, std::string_view name);

// Incoming: all members are set. Outgoing (Client, AsyncClient): method, target, headers and body
// are; Host, Content-Length and Connection are added by the client.
struct Request {
  std::string method;  // "GET"
  std::string path;    // percent-decoded, begins with '/', without the query
  std::string target;  // as on the wire: "/v1/jobs?state=running"
  Pairs query;         // decoded, in order
  Pairs headers;       // in order, names as sent
  std::string body;
  std::string peer_address;   // "127.0.0.1:40122"
  std::string peer_identity;  // the URI of its certificate ("dove://dove/node/n1"); "": it has none

  // The first header of that name (any case), empty when there is none.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;
  // The first value of that query parameter, or nullptr.
  const std::string* find_query(std::string_view name) const;
};

// Content-Length, Connection, Transfer-Encoding and Date are the server's to write.
struct Response {
  int status = 200;
  Pairs headers;
  std::string body;

  std::string_view header(std::string_view name) const;
};

// "Not Found"; "Unknown" for a status that is not registered.
std::string_view reason_phrase(int status);

// The HTTP status of each kind of error, and the kind that a client makes of a status >= 400.
int status_of(ErrorKind kind);
ErrorKind kind_of_status(int status);

// RFC 9457: application/problem+json with members status, title, code, detail and (if any) field.
Response problem(const Error& error);
Response problem(int status, const Error& error);

// "a%20b" → "a b"; '+' becomes a space only when `plus_is_space`. kInvalid for a broken escape or
// an escaped NUL.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space);
// Everything but letters, digits and "-._~" is escaped, '/' too unless `keep_slash`.
std::string percent_encode(std::string_view text, bool keep_slash = false);

// Sets path and query of `request` from its target ("/path?query" or "http://host/path?query").
Result<void> split_target(Request& request);

}  // namespace dove::wire
