#include "wire/http.h"

#include <fmt/format.h>

#include <algorithm>

#include "telemetry/json_text.h"
#include "wire/server_limits.h"

namespace dove::wire {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
  return -1;
}

Error bad_escape(std::string_view text, std::size_t at) {
  const std::string_view escape = text.substr(at, 3);
  return Error{ErrorKind::kInvalid, "malformed_request",
               escape == "%00"
                   ? std::string("%00 stands for a zero byte, which no name here holds")
                   : fmt::format("'{}' is no percent-escape: write % with two hex digits", escape),
               "target"};
}

}  // namespace

bool same_header(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* find_header(const Pairs& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (same_header(key, name)) return &value;
  }
  return nullptr;
}

std::string_view Request::header(std::string_view name) const {
  const std::string* value = find_header(headers, name);
  return value ? std::string_view(*value) : std::string_view();
}

bool Request::has_header(std::string_view name) const {
  return find_header(headers, name) != nullptr;
}

const std::string* Request::find_query(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string_view Response::header(std::string_view name) const {
  const std::string* value = find_header(headers, name);
  return value ? std::string_view(*value) : std::string_view();
}

std::string_view reason_phrase(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {
      {100, "Continue"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {428, "Precondition Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {507, "Insufficient Storage"},
  };
  for (const auto& [number, phrase] : kPhrases) {
    if (number == status) return phrase;
  }
  return "Unknown";
}

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return 400;
    case ErrorKind::kNotFound:
      return 404;
    case ErrorKind::kConflict:
      return 409;
    case ErrorKind::kDenied:
      return 403;
    case ErrorKind::kUnauthenticated:
      return 401;
    case ErrorKind::kTooLarge:
      return 413;
    case ErrorKind::kExhausted:
      return 507;
    case ErrorKind::kUnavailable:
      return 503;
    case ErrorKind::kTimeout:
      return 504;
    case ErrorKind::kCorrupt:
    case ErrorKind::kInternal:
      return 500;
  }
  return 500;
}

ErrorKind kind_of_status(int status) {
  switch (status) {
    case 401:
      return ErrorKind::kUnauthenticated;
    case 403:
      return ErrorKind::kDenied;
    case 404:
    case 410:
      return ErrorKind::kNotFound;
    case 408:
    case 504:
      return ErrorKind::kTimeout;
    case 409:
    case 412:
      return ErrorKind::kConflict;
    case 413:
    case 431:
      return ErrorKind::kTooLarge;
    case 429:
    case 502:
    case 503:
      return ErrorKind::kUnavailable;
    case 507:
      return ErrorKind::kExhausted;
    default:
      return status >= 500 ? ErrorKind::kInternal : ErrorKind::kInvalid;
  }
}

int status_of(const Error& error) {
  return error.code == kRateLimited ? 429 : status_of(error.kind);
}

Response problem(const Error& error) { return problem(status_of(error), error); }

Response problem(int status, const Error& error) {
  std::string body = fmt::format(R"({{"status":{},"title":)", status);
  telemetry::append_json_string(body, reason_phrase(status));
  body += ",\"code\":";
  telemetry::append_json_string(body, error.code);
  body += ",\"detail\":";
  telemetry::append_json_string(body, error.message);
  if (!error.field.empty()) {
    body += ",\"field\":";
    telemetry::append_json_string(body, error.field);
  }
  body += "}\n";
  Response response{status, {{"Content-Type", "application/problem+json"}}, std::move(body)};
  if (status == 429) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0 || (high == 0 && low == 0)) return bad_escape(text, i);
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string percent_encode(std::string_view text, bool keep_slash) {
  std::string out;
  for (char c : text) {
    const bool plain = (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~' || (keep_slash && c == '/');
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Result<void> split_target(Request& request) {
  std::string_view rest = request.target;
  if (const std::size_t scheme = rest.find("://");
      scheme != std::string_view::npos && !rest.starts_with('/')) {
    const std::size_t slash = rest.find_first_of("/?", scheme + 3);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  }
  if (rest.empty() || rest == "*") rest = "/";
  rest = rest.substr(0, rest.find('#'));
  const std::size_t mark = rest.find('?');
  TRY_ASSIGN(request.path, percent_decode(rest.substr(0, mark), false));
  if (request.path.empty()) request.path += '/';
  if (request.path[0] != '/') {
    return Error{ErrorKind::kInvalid, "malformed_request",
                 "the request's target must begin with '/'", "target"};
  }
  std::string_view query =
      mark == std::string_view::npos ? std::string_view() : rest.substr(mark + 1);
  request.query.clear();
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), item.size() + 1));
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    TRY_ASSIGN(std::string name, percent_decode(item.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos) {
      TRY_ASSIGN(value, percent_decode(item.substr(equals + 1), true));
    }
    request.query.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

}  // namespace dove::wire
