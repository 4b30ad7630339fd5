#include "wire/client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "wire/cluster/controllers.h"
#include "wire/lines.h"

namespace dove::wire {
namespace {

constexpr char kLogHead[] = "Dove-Log-Head";

// What one transfer gathers; libcurl's callbacks write here.
struct Transfer {
  CURL* easy = nullptr;
  Response response;
  std::size_t body_bytes_max = 0;
  bool too_large = false;
  // Set for streams.
  const std::function<LineSplitter::Outcome(std::string_view)>* on_bytes = nullptr;
  LineSplitter::Outcome outcome = LineSplitter::Outcome::kGoOn;
};

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  std::string_view line(data, size * count);
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    transfer.response.headers.clear();  // of a 100 Continue before it
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    transfer.response.headers.emplace_back(line.substr(0, colon), value);
  }
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view bytes(data, size * count);
  long status = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  if (transfer.on_bytes != nullptr && status < 400) {
    transfer.outcome = (*transfer.on_bytes)(bytes);
    return transfer.outcome == LineSplitter::Outcome::kGoOn ? bytes.size() : 0;
  }
  if (transfer.response.body.size() + bytes.size() > transfer.body_bytes_max) {
    transfer.too_large = true;
    return 0;
  }
  transfer.response.body += bytes;
  return bytes.size();
}

Request request_of(const std::string& method, const std::string& target, const Pairs& headers,
                   const std::string& body) {
  Request request;
  request.method = method;
  request.target = target;
  request.headers = headers;
  request.body = body;
  return request;
}

bool is_loopback(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::string_view host = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

// Nothing of an answer to a stream may be used twice.
bool may_ask_again(const Request& request, bool is_stream) {
  return !is_stream && may_repeat(request);
}

bool goes_on(const Result<void>& done, const Response& answer, bool repeats) {
  return done.ok() ? is_elsewhere(answer, repeats) : is_elsewhere(done.error(), repeats);
}

// "http://host:port": what of a URL people gave.
std::string server_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  return url.substr(0, url.find('/', scheme == std::string::npos ? 0 : scheme + 3));
}

// libcurl has one code for all that is wrong with a certificate, and says the rest in words.
Error untrusted(const std::string& url, const std::string& cause) {
  const auto error = [&](const char* code, const char* remedy) {
    return Error{ErrorKind::kUnavailable, code,
                 fmt::format("cannot trust {}: {}; {}", server_of(url), cause, remedy), ""};
  };
  if (cause.find("expired") != std::string::npos) {
    return error("certificate_expired",
                 "look at this machine's clock; a dove server renews its own certificate");
  }
  if (cause.find("not yet valid") != std::string::npos) {
    return error("certificate_not_yet_valid", "look at the clocks of both machines");
  }
  if (cause.find("alternative") != std::string::npos) {
    return error("certificate_wrong_name",
                 "use a name that the certificate has, or start the server with --tls-name NAME");
  }
  return error("certificate_untrusted",
               "name the cluster's authority: DOVE_CA_FILE, or ca_file: in config.yaml (`dove ca "
               "show` on the controller prints it)");
}

Error error_of(CURLcode code, const std::string& url, const char* detail) {
  const std::string cause = *detail != '\0' ? detail : curl_easy_strerror(code);
  switch (static_cast<int>(code)) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return untrusted(url, cause);
    case CURLE_SSL_CACERT_BADFILE:
      return {
          ErrorKind::kInvalid,
          "bad_ca_file",
          fmt::format("{}; DOVE_CA_FILE or ca_file: names a file of certificates in PEM", cause),
          {}};
    case CURLE_SSL_CONNECT_ERROR:
      return {ErrorKind::kUnavailable,
              "not_tls",
              fmt::format("no TLS with {}: {}; write http:// if the server is a plain one",
                          server_of(url), cause),
              {}};
    case CURLE_COULDNT_CONNECT:
      return {ErrorKind::kUnavailable,
              "connection_refused",
              fmt::format("cannot reach {}: {}; is `dove server` or `dove up` running?",
                          server_of(url), cause),
              {}};
    case CURLE_COULDNT_RESOLVE_HOST:
      return {ErrorKind::kUnavailable,
              "host_unknown",
              fmt::format("cannot reach {}: {}; check the server's name", server_of(url), cause),
              {}};
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorKind::kTimeout,
              "timeout",
              fmt::format("no answer from {} in time: {}; try again, or see the server's log", url,
                          cause),
              {}};
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {ErrorKind::kInvalid,
              "bad_url",
              fmt::format("{} is not a URL of a server: {}; write https://HOST:PORT", url, cause),
              {}};
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
      return {
          ErrorKind::kUnavailable,
          "connection_broken",
          fmt::format("the connection to {} broke: {}; did the server end? try again", url, cause),
          {}};
    default:
      return {ErrorKind::kInternal,
              "transport",
              fmt::format("talking to {} failed: {}", url, cause),
              {}};
  }
}

Error too_long(const std::string& url, const char* code, const char* what, std::size_t bytes) {
  return {ErrorKind::kTooLarge,
          code,
          fmt::format("{} of {} is longer than {} bytes; ask for less", what, url, bytes),
          {}};
}

}  // namespace

struct Client::State {
  State(const std::string& text, ClientOptions given)
      : base_urls(split_urls(text)), options(std::move(given)) {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    easy = curl_easy_init();
    CHECK(easy != nullptr, "libcurl has memory for a handle");
  }
  ~State() { curl_easy_cleanup(easy); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void prepare(const Request& request, const std::string& url, Transfer& transfer);
  Result<void> perform(const Request& request, Transfer& transfer, int timeout_ms);
  void note_written(const Request& request, const Response& answer);
  Result<void> perform_once(const Request& request, Transfer& transfer, int timeout_ms);
  Result<void> stream(const Request& request,
                      const std::function<LineSplitter::Outcome(std::string_view)>& on_bytes,
                      LineSplitter::Outcome& outcome);

  std::vector<std::string> base_urls;
  std::size_t at = 0;        // the one that is asked
  std::string written = {};  // the head of a log after the last change, as its server said
  ClientOptions options;
  CURL* easy = nullptr;
  char detail[CURL_ERROR_SIZE] = {};
};

void Client::State::prepare(const Request& request, const std::string& url, Transfer& transfer) {
  curl_easy_reset(easy);  // connections stay
  detail[0] = '\0';
  transfer.easy = easy;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ms));
  if (is_loopback(url)) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (!options.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.unix_socket.empty()) {
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, options.unix_socket.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else {
    const bool sends = !request.body.empty() || request.method == "POST" ||
                       request.method == "PUT" || request.method == "PATCH";
    if (sends) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

// Where there are several, the one that leads; while there is none, for some seconds.
Result<void> Client::State::perform(const Request& request, Transfer& transfer, int timeout_ms) {
  const auto until = std::chrono::steady_clock::now() + kLeaderWait;
  for (std::size_t tried = 1;; ++tried) {
    const Result<void> done = perform_once(request, transfer, timeout_ms);
    const bool repeats = may_ask_again(request, transfer.on_bytes != nullptr);
    if (base_urls.size() == 1 || !goes_on(done, transfer.response, repeats)) {
      if (done.ok()) note_written(request, transfer.response);
      if (!done.ok()) at = (at + 1) % base_urls.size();  // the next call
      return done;
    }
    if (std::chrono::steady_clock::now() >= until) return done;
    at = (at + 1) % base_urls.size();
    transfer.response = Response();
    if (tried % base_urls.size() == 0) std::this_thread::sleep_for(kLeaderPause);
  }
}

// Whichever controller answers later calls, what was changed here is in its answers.
void Client::State::note_written(const Request& request, const Response& answer) {
  if (request.method == "GET" || request.method == "HEAD" || answer.status >= 400) return;
  if (const std::string_view head = answer.header(kLogHead); !head.empty()) written = head;
}

Result<void> Client::State::perform_once(const Request& request, Transfer& transfer,
                                         int timeout_ms) {
  const std::string url = base_urls[at] + request.target;
  prepare(request, url, transfer);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));
  curl_slist* list = nullptr;
  const auto add = [&](const std::string& line) { list = curl_slist_append(list, line.c_str()); };
  for (const auto& [name, value] : request.headers) add(name + ": " + value);
  if (!written.empty()) add(fmt::format("{}: {}", kLogHead, written));
  if (!options.bearer_token.empty() && !request.has_header("authorization")) {
    add("Authorization: Bearer " + options.bearer_token);
  }
  // libcurl would call any body a form.
  if (!request.has_header("content-type")) {
    add(request.body.empty() ? "Content-Type:" : "Content-Type: application/json");
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  const CURLcode code = curl_easy_perform(easy);
  curl_slist_free_all(list);
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  transfer.response.status = static_cast<int>(status);
  if (code == CURLE_OK) return {};
  if (transfer.too_large) {
    return too_long(url, "response_too_large", "the answer", transfer.body_bytes_max);
  }
  if (transfer.outcome == LineSplitter::Outcome::kStopped) return {};
  if (transfer.outcome == LineSplitter::Outcome::kTooLong) {
    return too_long(url, "line_too_long", "a line", options.line_bytes_max);
  }
  long sent = 0;
  curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
  Error error = error_of(code, url, detail);
  if (code == CURLE_OPERATION_TIMEDOUT && sent == 0) error.code = "connect_timeout";
  return error;
}

Client::Client(std::string base_url, ClientOptions options)
    : state_(std::make_unique<State>(base_url, std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

const std::string& Client::base_url() const { return state_->base_urls[state_->at]; }

Result<Response> Client::call(const Request& request) {
  Transfer transfer;
  transfer.body_bytes_max = state_->options.response_bytes_max;
  TRY(state_->perform(request, transfer, state_->options.timeout_ms));
  return std::move(transfer.response);
}

Result<Response> Client::call(const std::string& method, const std::string& target,
                              const std::string& body, const Pairs& headers) {
  return call(request_of(method, target, headers, body));
}

Result<void> Client::State::stream(
    const Request& request, const std::function<LineSplitter::Outcome(std::string_view)>& on_bytes,
    LineSplitter::Outcome& outcome) {
  constexpr std::size_t kErrorBytesMax = 1024 * 1024;
  Transfer transfer;
  transfer.body_bytes_max = kErrorBytesMax;
  transfer.on_bytes = &on_bytes;
  TRY(perform(request, transfer, 0));
  outcome = transfer.outcome;
  const int status = transfer.response.status;
  if (status < 400) return {};
  return Error{kind_of_status(status),
               fmt::format("http_{}", status),
               std::move(transfer.response.body),
               {}};
}

Result<void> Client::stream(const std::string& method, const std::string& target,
                            const Pairs& headers, const std::string& body,
                            const std::function<bool(std::string_view line)>& on_line) {
  LineSplitter lines(state_->options.line_bytes_max);
  LineSplitter::Outcome outcome = LineSplitter::Outcome::kGoOn;
  TRY(state_->stream(
      request_of(method, target, headers, body),
      [&](std::string_view bytes) { return lines.feed(bytes, on_line); }, outcome));
  if (outcome == LineSplitter::Outcome::kGoOn) lines.finish(on_line);
  return {};
}

Result<void> Client::stream_bytes(const std::string& method, const std::string& target,
                                  const Pairs& headers, const std::string& body,
                                  const std::function<bool(std::string_view bytes)>& on_bytes) {
  LineSplitter::Outcome outcome = LineSplitter::Outcome::kGoOn;
  return state_->stream(
      request_of(method, target, headers, body),
      [&](std::string_view bytes) {
        return on_bytes(bytes) ? LineSplitter::Outcome::kGoOn : LineSplitter::Outcome::kStopped;
      },
      outcome);
}

}  // namespace dove::wire
