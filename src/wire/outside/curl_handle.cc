#include "wire/outside/curl_handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace dove::wire {

namespace {

int is_over(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<const std::atomic<bool>*>(user) ? 1 : 0;
}

}  // namespace

CurlHandle::CurlHandle(int timeout_ms, const std::atomic<bool>& stop) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  easy_ = curl_easy_init();
  CHECK(easy_ != nullptr, "libcurl has memory for a handle");
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(detail_));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(timeout_ms, 5'000)));
  // A resolver that hangs is not waited for.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, is_over);
  set(CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(&stop));
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
}

CurlHandle::~CurlHandle() { curl_easy_cleanup(easy_); }

long CurlHandle::response_code() const {
  long code = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

Error CurlHandle::error_of(CURLcode code, const std::string& host) const {
  const auto failed = [&](ErrorKind kind, const char* name, const std::string& what) {
    return Error{kind, name, fmt::format("{}: {}", host, what), ""};
  };
  switch (static_cast<int>(code)) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return failed(ErrorKind::kUnavailable, "host_unknown", "no such host; check its name");
    case CURLE_COULDNT_CONNECT:
      return failed(ErrorKind::kUnavailable, "unreachable", "cannot be reached");
    case CURLE_OPERATION_TIMEDOUT:
      return failed(ErrorKind::kTimeout, "timeout", "did not answer in time");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_USE_SSL_FAILED:
      return failed(ErrorKind::kUnavailable, "untrusted",
                    fmt::format("its certificate or its TLS is not good: {}", detail_));
    case CURLE_SSL_CACERT_BADFILE:
      return failed(ErrorKind::kInvalid, "bad_ca_file", detail_);
    case CURLE_ABORTED_BY_CALLBACK:
      return failed(ErrorKind::kUnavailable, "stopped", "the server was being stopped");
    case CURLE_LOGIN_DENIED:
      return failed(ErrorKind::kDenied, "login_refused", "refused user and password");
    default:
      return failed(ErrorKind::kUnavailable, "broken", curl_easy_strerror(code));
  }
}

}  // namespace dove::wire
