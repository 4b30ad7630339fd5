#include "wire/outside/smtp.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "wire/outside/curl_handle.h"

namespace dove::wire {
namespace {

std::size_t give(char* to, std::size_t size, std::size_t count, void* user) {
  auto& rest = *static_cast<std::string_view*>(user);
  const std::size_t bytes = std::min(size * count, rest.size());
  std::memcpy(to, rest.data(), bytes);
  rest.remove_prefix(bytes);
  return bytes;
}

std::size_t drop(char*, std::size_t size, std::size_t count, void*) { return size * count; }

}  // namespace

Result<std::string> host_of_relay(const std::string& url) {
  const Error wrong{ErrorKind::kInvalid, "bad_url",
                    "the relay's URL is smtp://HOST[:PORT] or smtps://HOST[:PORT]", ""};
  CURLU* parsed = curl_url();
  char* scheme = nullptr;
  char* host = nullptr;
  char* user = nullptr;
  const bool good = parsed != nullptr &&
                    curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
                    curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                    curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                    curl_url_get(parsed, CURLUPART_USER, &user, 0) == CURLUE_NO_USER;
  const std::string_view word = scheme == nullptr ? "" : scheme;
  const bool is_relay = good && (word == "smtp" || word == "smtps") && *host != '\0';
  const std::string name = is_relay ? host : "";
  curl_free(scheme);
  curl_free(host);
  curl_free(user);
  curl_url_cleanup(parsed);
  if (!is_relay) return wrong;
  return name;
}

Result<void> send_mail(const SmtpRelay& relay, const Mail& mail, const std::atomic<bool>& stop) {
  TRY_ASSIGN(const std::string host, host_of_relay(relay.url));
  CurlHandle curl(relay.timeout_ms, stop);
  std::string_view rest = mail.message;
  curl.set(CURLOPT_URL, relay.url.c_str());
  curl.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  curl.set(CURLOPT_PROXY, "");
  curl.set(CURLOPT_USE_SSL, static_cast<long>(relay.plain ? CURLUSESSL_NONE : CURLUSESSL_ALL));
  if (!relay.user.empty()) {
    curl.set(CURLOPT_USERNAME, relay.user.c_str());
    curl.set(CURLOPT_PASSWORD, relay.password.c_str());
  }
  if (!relay.ca_file.empty()) curl.set(CURLOPT_CAINFO, relay.ca_file.c_str());
  curl.set(CURLOPT_MAIL_FROM, ("<" + mail.from + ">").c_str());
  CurlList recipients;
  recipients.add("<" + mail.to + ">");
  curl.set(CURLOPT_MAIL_RCPT, recipients.get());
  curl.set(CURLOPT_UPLOAD, 1L);
  curl.set(CURLOPT_READFUNCTION, give);
  curl.set(CURLOPT_READDATA, &rest);
  curl.set(CURLOPT_WRITEFUNCTION, drop);
  const CURLcode code = curl.perform();
  if (code == CURLE_OK) return {};
  const long reply = curl.response_code();
  // libcurl has one code each for a refused sender, recipient and message; the reply tells.
  const bool is_reply = code == CURLE_SEND_ERROR || code == CURLE_WEIRD_SERVER_REPLY ||
                        code == CURLE_RECV_ERROR || code == CURLE_REMOTE_ACCESS_DENIED;
  if (is_reply && reply >= 500 && reply < 600) {
    return Error{ErrorKind::kInvalid, "mail_refused",
                 fmt::format("{} refused the mail (reply {}); check the address", host, reply), ""};
  }
  if (is_reply && reply >= 400 && reply < 500) {
    return Error{ErrorKind::kUnavailable, "mail_delayed",
                 fmt::format("{} does not take the mail now (reply {})", host, reply), ""};
  }
  return curl.error_of(code, host);
}

}  // namespace dove::wire
