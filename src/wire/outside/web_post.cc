#include "wire/outside/web_post.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "wire/outside/curl_handle.h"

namespace dove::wire {
namespace {

constexpr std::size_t kUrlBytesMax = 1024;
constexpr std::size_t kAnswerBytesMax = 16 << 10;

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlPtr = std::unique_ptr<CURLU, FreeUrl>;

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  std::string out(text);
  curl_free(text);
  return out;
}

Error bad_url(const char* remedy) {
  return Error{ErrorKind::kInvalid, "bad_url",
               fmt::format("that is no URL of a webhook: {}", remedy), ""};
}

// What one transfer may do, and what it met.
struct Passage {
  const Networks& networks;
  std::string refused;  // an address
  std::size_t read = 0;
};

std::string text_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "an address";
  if (address.sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text,
              sizeof text);
  }
  return text;
}

// Called with each resolved address that is about to be connected to.
curl_socket_t open_socket(void* user, curlsocktype, curl_sockaddr* to) {
  auto& passage = *static_cast<Passage*>(user);
  if (!passage.networks.permits(to->addr)) {
    passage.refused = text_of(to->addr);
    return CURL_SOCKET_BAD;
  }
  return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

// Whoever answers at length is not read to the end.
std::size_t drop_body(char*, std::size_t size, std::size_t count, void* user) {
  auto& passage = *static_cast<Passage*>(user);
  passage.read += size * count;
  return passage.read > kAnswerBytesMax ? 0 : size * count;
}

}  // namespace

Result<OutsideUrl> parse_outside_url(const std::string& url) {
  const auto is_plain = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
  if (url.empty() || url.size() > kUrlBytesMax || !std::ranges::all_of(url, is_plain)) {
    return bad_url("write https://HOST/PATH, of printable ASCII, at most 1 KiB");
  }
  const UrlPtr parsed(curl_url());
  if (parsed == nullptr || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return bad_url("write https://HOST/PATH");
  }
  const std::string scheme = part_of(parsed.get(), CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") return bad_url("it begins with https://");
  if (!part_of(parsed.get(), CURLUPART_USER).empty() ||
      !part_of(parsed.get(), CURLUPART_PASSWORD).empty()) {
    return bad_url("it names no user");
  }
  if (!part_of(parsed.get(), CURLUPART_FRAGMENT).empty()) return bad_url("it has no fragment (#)");
  OutsideUrl out;
  out.secure = scheme == "https";
  out.host = part_of(parsed.get(), CURLUPART_HOST);
  std::ranges::transform(out.host, out.host.begin(), [](unsigned char c) { return tolower(c); });
  if (out.host.empty()) return bad_url("it names a host");
  out.origin = scheme + "://" + out.host;
  const std::string port = part_of(parsed.get(), CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  if (!port.empty()) out.origin += ":" + port;
  if (out.host.starts_with('[')) out.host = out.host.substr(1, out.host.size() - 2);
  return out;
}

Result<int> post_outside(const WebPost& post, const Networks& networks,
                         const std::atomic<bool>& stop) {
  TRY_ASSIGN(const OutsideUrl url, parse_outside_url(post.url));
  CurlHandle curl(post.timeout_ms, stop);
  Passage passage{networks, "", 0};
  curl.set(CURLOPT_URL, post.url.c_str());
  curl.set(CURLOPT_PROTOCOLS_STR, url.secure ? "https" : "http");
  curl.set(CURLOPT_FOLLOWLOCATION, 0L);
  curl.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // A proxy would connect in our place, out of sight.
  curl.set(CURLOPT_PROXY, "");
  curl.set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl.set(CURLOPT_OPENSOCKETDATA, &passage);
  curl.set(CURLOPT_WRITEFUNCTION, drop_body);
  curl.set(CURLOPT_WRITEDATA, &passage);
  if (!post.ca_file.empty()) curl.set(CURLOPT_CAINFO, post.ca_file.c_str());
  CurlList headers;
  for (const auto& [name, value] : post.headers) headers.add(name + ": " + value);
  headers.add("Expect:");
  curl.set(CURLOPT_HTTPHEADER, headers.get());
  curl.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  curl.set(CURLOPT_POSTFIELDS, post.body.data());
  const CURLcode code = curl.perform();
  if (!passage.refused.empty() && code != CURLE_OK) {
    return Error{ErrorKind::kDenied, "address_refused",
                 fmt::format("{} is {}, which is no public address; an administrator may allow its "
                             "network (webhook_networks of --notices)",
                             url.host, passage.refused),
                 ""};
  }
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && passage.read > kAnswerBytesMax)) {
    return static_cast<int>(curl.response_code());
  }
  return curl.error_of(code, url.host);
}

}  // namespace dove::wire
