#include "wire/outside/bucket.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/outside/curl_handle.h"
#include "wire/secret.h"

namespace dove::wire {
namespace {

constexpr int kCall_ms = 300'000;
constexpr std::size_t kRefusalBytesMax = 16 << 10;

struct Received {
  std::string body;
  std::size_t bytes_max = 0;
  bool too_large = false;
};

std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& received = *static_cast<Received*>(user);
  received.too_large = received.body.size() + size * count > received.bytes_max;
  if (received.too_large) return 0;
  received.body.append(bytes, size * count);
  return size * count;
}

// What stands between <NAME> and </NAME>, cut short; "" when it is not there. The answer of an
// error is one small element of known form, and is shown, never acted upon.
std::string element(std::string_view xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name);
  const std::size_t from = xml.find(open);
  if (from == std::string_view::npos) return "";
  const std::string_view rest = xml.substr(from + open.size());
  std::string text(rest.substr(0, std::min<std::size_t>(rest.find('<'), 200)));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, ' ');
  return text;
}

}  // namespace

bool is_bucket_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return name.size() >= 3 && name.size() <= 63 && name.front() != '-' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(), fits);
}

bool is_object_name(std::string_view name) {
  if (name.empty() || name.size() > 512) return false;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t to = std::min(name.find('/', from), name.size());
    const std::string_view part = name.substr(from, to - from);
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '.' || c == '_' || c == '-';
    };
    if (part.empty() || part == "." || part == ".." ||
        !std::all_of(part.begin(), part.end(), fits)) {
      return false;
    }
    from = to + 1;
  }
  return true;
}

std::string Bucket::url_of(const std::string& name) const {
  if (!access_.endpoint.empty()) {
    return fmt::format("{}/{}/{}", access_.endpoint, access_.bucket, name);
  }
  return fmt::format("https://{}.s3.{}.amazonaws.com/{}", access_.bucket, access_.region, name);
}

Result<Bucket::Answer> Bucket::call(const std::string& name, const std::string_view* sent,
                                    std::size_t bytes_max) {
  CHECK(is_object_name(name), "names of objects are ours");
  CurlHandle curl(kCall_ms, stop_);
  const std::string url = url_of(name);
  const std::string signing = fmt::format("aws:amz:{}:s3", access_.region);
  curl.set(CURLOPT_URL, url.c_str());
  curl.set(CURLOPT_PROTOCOLS_STR, url.starts_with("https:") ? "https" : "http");
  curl.set(CURLOPT_FOLLOWLOCATION, 0L);
  curl.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl.set(CURLOPT_AWS_SIGV4, signing.c_str());
  curl.set(CURLOPT_USERNAME, access_.key_id.c_str());
  curl.set(CURLOPT_PASSWORD, access_.secret.c_str());
  if (!access_.ca_file.empty()) curl.set(CURLOPT_CAINFO, access_.ca_file.c_str());
  CurlList headers;
  // The protocol wants the digest in a header of its own; libcurl 7.88 signs the one that it finds
  // there, and sends none by itself.
  headers.add("x-amz-content-sha256: " + sha256_hex(sent == nullptr ? std::string_view() : *sent));
  if (!access_.session_token.empty()) {
    headers.add("x-amz-security-token: " + access_.session_token);
  }
  // A header that is left out would be signed all the same, so "Expect" stays, and nobody waits for
  // its answer.
  curl.set(CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
  if (sent != nullptr) {
    headers.add("Content-Type: application/octet-stream");
    curl.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(sent->size()));
    curl.set(CURLOPT_POSTFIELDS, sent->data());
    curl.set(CURLOPT_CUSTOMREQUEST, "PUT");
  }
  curl.set(CURLOPT_HTTPHEADER, headers.get());
  Received received{"", std::max(bytes_max, kRefusalBytesMax), false};
  curl.set(CURLOPT_WRITEFUNCTION, receive);
  curl.set(CURLOPT_WRITEDATA, &received);
  const CURLcode code = curl.perform();
  if (received.too_large) {
    return Error{ErrorKind::kTooLarge, "object_too_large",
                 fmt::format("{} has more than {} bytes", name, received.bytes_max), name};
  }
  if (code != CURLE_OK) return curl.error_of(code, url.substr(0, url.find('/', 8)));
  return Answer{curl.response_code(), std::move(received.body)};
}

Error Bucket::refused(const Answer& answer, const std::string& name) const {
  const std::string said = element(answer.body, "Code");
  const std::string why = fmt::format("{} of bucket {}: {} ({})", name, access_.bucket,
                                      said.empty() ? "refused" : said, answer.status);
  if (said == "NoSuchBucket") {
    return Error{ErrorKind::kNotFound, "no_bucket",
                 fmt::format("there is no bucket {}: create it, or check AWS_ENDPOINT_URL and "
                             "AWS_REGION",
                             access_.bucket),
                 access_.bucket};
  }
  if (answer.status == 401 || answer.status == 403) {
    return Error{ErrorKind::kDenied, "bucket_refused",
                 fmt::format("{}: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, "
                             "and that the key may list the bucket and put and get its objects",
                             why),
                 access_.bucket};
  }
  const bool passes = answer.status == 429 || answer.status >= 500;
  return Error{passes ? ErrorKind::kUnavailable : ErrorKind::kInternal, "bucket_failed", why, name};
}

Result<void> Bucket::put(const std::string& name, std::string_view bytes) {
  TRY_ASSIGN(const Answer answer, call(name, &bytes, 0));
  if (answer.status == 200) return {};
  return refused(answer, name);
}

Result<std::optional<std::string>> Bucket::get(const std::string& name, std::size_t bytes_max) {
  TRY_ASSIGN(Answer answer, call(name, nullptr, bytes_max));
  if (answer.status == 200) return std::optional(std::move(answer.body));
  if (answer.status == 404 && element(answer.body, "Code") != "NoSuchBucket") {
    return std::optional<std::string>();
  }
  return refused(answer, name);
}

}  // namespace dove::wire
