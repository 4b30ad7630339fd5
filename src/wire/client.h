// Client is the blocking HTTP client of the command line, on libcurl, with keep-alive.
//
// One thread at a time. Answers of any status are Responses; an Error means that no answer came:
//
//   kUnavailable  connection_refused, connection_broken, host_unknown
//                 with TLS also certificate_expired, certificate_not_yet_valid,
//                 certificate_wrong_name, certificate_untrusted, not_tls
//   kTimeout      timeout, connect_timeout (nothing was asked)
//   kInvalid      bad_url, bad_ca_file
//   kTooLarge     response_too_large, line_too_long
//   kInternal     transport
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/http.h"

namespace dove::wire {

struct ClientOptions {
  int connect_timeout_ms = 5'000;
  int timeout_ms = 60'000;        // of a whole call; streams have no such limit
  std::string bearer_token = {};  // sent as "Authorization: Bearer …" when not empty
  std::string ca_file =
      {};  // PEM of the authorities that https:// servers may have; "": the system's
  std::string unix_socket = {};  // the server's on this machine, in place of the URL's host
  std::size_t response_bytes_max = 256 * 1024 * 1024;
  std::size_t line_bytes_max = 16 * 1024 * 1024;
};

class Client {
 public:
  // `base_url`: "https://gpu-head:7717", without a path or with a prefix that targets are added to.
  explicit Client(std::string base_url, ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  const std::string& base_url() const;

  // Uses method, target, headers and body of `request`.
  Result<Response> call(const Request& request);
  Result<Response> call(const std::string& method, const std::string& target,
                        const std::string& body = {}, const Pairs& headers = {});

  // Calls `on_line` with every '\n'-ended line (without its "\n" or "\r\n"; a last line without end
  // too) until it returns false or the server ends the stream; both are success. An answer with a
  // status >= 400 is not given to on_line but becomes an Error with kind_of_status() as kind, code
  // "http_<status>" and the answer's body as message.
  Result<void> stream(const std::string& method, const std::string& target, const Pairs& headers,
                      const std::string& body,
                      const std::function<bool(std::string_view line)>& on_line);
  // As stream(), but with the bytes as they come.
  Result<void> stream_bytes(const std::string& method, const std::string& target,
                            const Pairs& headers, const std::string& body,
                            const std::function<bool(std::string_view bytes)>& on_bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dove::wire
