#include "cli/client/task_link.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "cli/client/api.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "wire/client.h"
#include "wire/tls/tls.h"

namespace dove::cli {

namespace {

// Where there are several controllers: the one that leads.
std::string leading_url(const Endpoint& endpoint) {
  if (endpoint.url.find(',') == std::string::npos) return endpoint.url;
  wire::ClientOptions options;
  options.ca_file = endpoint.ca_file;
  wire::Client client(endpoint.url, options);
  (void)client.call("GET", "/readyz");
  return client.base_url();
}

}  // namespace

Result<TaskLink> TaskLink::find(const Endpoint& endpoint) {
  TaskLink link;
  link.token_ = endpoint.token;
  if (!endpoint.unix_socket.empty()) {
    link.address_.unix_path = endpoint.unix_socket;
    return link;
  }
  Result<wire::ServerUrl> url = wire::parse_server_url(leading_url(endpoint));
  if (!url.ok()) {
    Error bad = url.error();
    bad.message += fmt::format(" (the URL is from {})", endpoint.origin);
    return bad;
  }
  link.address_ = {url->host, url->port, nullptr};
  link.prefix_ = url->prefix;
  if (!url->secure) return link;
  wire::TlsClientOptions options;
  if (!endpoint.ca_file.empty()) {
    TRY_ASSIGN(options.authorities_pem, read_line_file(endpoint.ca_file));
    options.authorities_pem += '\n';
  }
  TRY_ASSIGN(link.address_.tls, wire::Tls::for_client(options));
  return link;
}

wire::Request TaskLink::request(const std::string& target) const {
  wire::Request request;
  request.method = "GET";
  request.target = prefix_ + target;
  const std::string user = environment_value("DOVE_USER");
  request.headers = {{"X-Dove-User", user.empty() ? local_user() : user}};
  // Without a token the server sees who calls: through its socket on this machine.
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  return request;
}

std::unique_ptr<wire::WebSocket> TaskLink::open(wire::Loop& loop, const std::string& target,
                                                wire::WebSocketCallbacks callbacks) const {
  return wire::connect_web_socket(loop, address_, request(target), std::move(callbacks));
}

Error error_of_closed(const Error& closed, const std::string& what) {
  if (closed.code.starts_with("http_")) {
    return error_of_problem(std::atoi(closed.code.c_str() + 5), closed.message);
  }
  if (closed.code == "connection_refused" || closed.code == "host_unknown") return closed;
  return Error{ErrorKind::kUnavailable, "connection_lost",
               fmt::format("the connection to the server broke, so the {} was ended", what), ""};
}

Error error_of_word(const protocol::LinkError& error) {
  return Error{wire::kind_of_status(error.status), error.code, error.message, ""};
}

}  // namespace dove::cli
