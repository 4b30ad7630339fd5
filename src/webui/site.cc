#include "webui/site.h"

#include <algorithm>
#include <utility>

namespace dove::webui {
namespace {

constexpr std::string_view kIndex = "/index.html";

// Neither inline scripts nor inline styles, nothing from elsewhere, no frame around it.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'";

constexpr std::string_view kNotBuilt =
    "<!doctype html>\n<html lang=\"en\"><head><meta "
    "charset=\"utf-8\"><title>Dovetail</title></head>"
    "<body><h1>Dovetail</h1>\n"
    "<p>This program was built without the web console. Everything else works: "
    "<code>dove --help</code> lists the commands, and <a href=\"/openapi.yaml\">/openapi.yaml</a> "
    "describes the API.</p>\n"
    "<p>To have the console, install Node.js and npm where the program is built, and call "
    "<code>make build</code> again.</p></body></html>\n";

wire::Pairs safe_headers() {
  return {{"Content-Security-Policy", kPolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

bool has_word(std::string_view header, std::string_view word) {
  return header.find(word) != std::string_view::npos;
}

wire::Response refuse(const char* code, const char* message, int status) {
  wire::Response response = wire::problem(status, Error{ErrorKind::kInvalid, code, message, ""});
  for (auto& header : safe_headers()) response.headers.push_back(std::move(header));
  return response;
}

wire::Response show(const File& file, const wire::Request& request) {
  wire::Response response;
  response.headers = safe_headers();
  response.headers.emplace_back("ETag", file.etag);
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.headers.emplace_back(
      "Cache-Control", file.is_hashed ? "public, max-age=31536000, immutable" : "no-cache");
  if (has_word(request.header("If-None-Match"), file.etag)) {
    response.status = 304;
    return response;
  }
  if (file.is_gzip) {
    if (!has_word(request.header("Accept-Encoding"), "gzip")) {
      return refuse("gzip_only",
                    "this file is sent compressed only; send Accept-Encoding: gzip "
                    "(curl: --compressed)",
                    406);
    }
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  response.headers.emplace_back("Content-Type", file.type);
  response.body = file.bytes;
  return response;
}

}  // namespace

std::string_view first_part(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  return path.substr(0, path.find('/'));
}

wire::Response Site::page(const wire::Request& request) const {
  const auto index = std::ranges::find(files_, kIndex, &File::path);
  if (index != files_.end()) return show(*index, request);
  wire::Response response;
  response.headers = safe_headers();
  response.headers.emplace_back("Content-Type", "text/html; charset=utf-8");
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.body = kNotBuilt;
  return response;
}

std::optional<wire::Response> Site::answer(const wire::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  if (request.path == "/") return page(request);
  const std::string_view first = first_part(request.path);
  if (api_.contains(first)) return std::nullopt;
  const auto file = std::ranges::find(files_, request.path, &File::path);
  if (file != files_.end()) return show(*file, request);
  if (first == "assets") {
    return refuse("no_such_file", "the console has no such file; load its page again", 404);
  }
  if (!has_word(request.header("Accept"), "text/html")) return std::nullopt;
  return page(request);
}

}  // namespace dove::webui
