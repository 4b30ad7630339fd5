#include "cli/client/endpoint.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/terminal/terminal.h"
#include "wire/address.h"
#include "yaml/fields.h"

namespace dove::cli {
namespace {

constexpr std::size_t kFileBytesMax = 64 * 1024;

std::string state_directory() {
  const std::string base = environment_value("XDG_STATE_HOME");
  return (base.empty() ? local_home() + "/.local/state" : base) + "/dove";
}

struct Found {
  std::string url;
  std::string token_file;
  std::string ca_file;
  std::string origin;
  bool insecure = false;
};

// A server's own authority, if it has one.
std::string ca_in(const std::string& directory) {
  const std::string path = directory + "/ca.pem";
  return read_line_file(path).ok() ? path : "";
}

Found in_data(const std::string& directory) {
  Found found;
  const Result<std::string> url = read_line_file(directory + "/url");
  if (!url.ok()) return found;
  found.url = *url;
  found.token_file = directory + "/token";
  found.ca_file = ca_in(directory);
  found.origin = directory + "/url";
  found.insecure = true;  // it would not be there if the server had not been told
  return found;
}

Result<Found> read_config(const std::string& path, const std::string& text) {
  Found found;
  std::string data;
  TRY_ASSIGN(const yaml::ValueRef root, yaml::read(path, text));
  if (root->kind == yaml::Value::Kind::kNull) return found;
  yaml::Fields in(*root, "the file");
  // A line without a value says nothing, and other programs may have lines of their own.
  const auto take = [&](const char* name, std::string& out) {
    const yaml::Value* const value = in.find(name);
    if (value != nullptr && value->kind != yaml::Value::Kind::kNull) in.text(name, out);
  };
  take("url", found.url);
  take("token_file", found.token_file);
  take("ca_file", found.ca_file);
  take("data", data);
  const yaml::Value* const insecure = in.find("insecure");
  if (insecure != nullptr && insecure->kind != yaml::Value::Kind::kNull) {
    in.flag("insecure", found.insecure);
  }
  in.allow_all();
  TRY(in.end());
  if (found.url.empty() && !data.empty()) found = in_data(data);
  if (!found.url.empty() && found.origin.empty()) found.origin = path;
  return found;
}

Result<Found> in_config(const std::string& path) {
  const Result<std::string> text = read_line_file(path);
  if (!text.ok()) return Found{};
  Result<Found> found = read_config(path, *text);
  if (found.ok()) return found;
  return yaml::coded(found.error(), "bad_config", "it holds url:, token_file: and ca_file:");
}

Result<Found> in_known_places() {
  TRY_ASSIGN(Found found, in_config(config_directory() + "/config.yaml"));
  if (!found.url.empty()) return found;
  TRY_ASSIGN(found, in_config("/etc/dove/config.yaml"));
  if (!found.url.empty()) return found;
  found = in_data(state_directory());
  return found.url.empty() ? in_data(kServiceData) : found;
}

Error no_server() {
  return Error{ErrorKind::kUnavailable, "no_server",
               fmt::format("no server is known: start a cluster on this machine with `dove up`, or "
                           "name one with --url, DOVE_URL, DOVE_DATA, or `url:` in {}/config.yaml",
                           config_directory()),
               ""};
}

std::string without_slash(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

// `urls`: one, or several controllers of one cluster.
bool names(const std::string& urls, const std::string& one) {
  if (without_slash(urls) == without_slash(one)) return true;
  std::stringstream in(urls);
  for (std::string url; std::getline(in, url, ',');) {
    if (without_slash(url) == without_slash(one)) return true;
  }
  return false;
}

Result<std::string> find_token(const Found& stored, const std::string& url) {
  const std::string token = environment_value("DOVE_TOKEN");
  if (!token.empty()) return token;
  const std::string file = environment_value("DOVE_TOKEN_FILE");
  if (!file.empty()) return read_line_file(file);
  // A task speaks for its job, to the server that started it.
  const std::string job_token = environment_value("DOVE_JOB_TOKEN");
  if (!job_token.empty() && url == environment_value("DOVE_URL")) return job_token;
  if (stored.token_file.empty() || !names(url, stored.url)) return std::string();
  const Result<std::string> read = read_line_file(stored.token_file);
  return read.ok() ? *read : std::string();
}

// The socket of the server whose token file was found; "" where this process may not use it.
std::string socket_of(const Found& stored, const std::string& url) {
  if (stored.token_file.empty() || without_slash(stored.url) != without_slash(url)) return "";
  const std::size_t slash = stored.token_file.rfind('/');
  if (slash == std::string::npos) return "";
  const std::string path = stored.token_file.substr(0, slash) + "/socket";
  return ::access(path.c_str(), R_OK | W_OK) == 0 ? path : "";
}

}  // namespace

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::map<std::string, std::string> own_variables() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

std::string config_directory() {
  const std::string base = environment_value("XDG_CONFIG_HOME");
  return (base.empty() ? local_home() + "/.config" : base) + "/dove";
}

Result<std::string> read_line_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{ErrorKind::kNotFound, "cannot_read", fmt::format("{}: cannot be read", path),
                 path};
  }
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    return Error{ErrorKind::kTooLarge, "too_large",
                 fmt::format("{}: over {} KiB", path, kFileBytesMax / 1024), path};
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

bool is_told_insecure(const Invocation& invocation) {
  const std::string told = environment_value("DOVE_INSECURE");
  return invocation.has("insecure") || told == "1" || told == "true" || told == "yes";
}

Result<Endpoint> find_endpoint(const Invocation& invocation) {
  const std::string data = invocation.get("data", environment_value("DOVE_DATA"));
  const std::string url = invocation.get("url", environment_value("DOVE_URL"));
  Found stored;
  if (!data.empty()) {
    stored = in_data(data);
    if (stored.url.empty() && url.empty()) {
      return Error{ErrorKind::kUnavailable, "no_server",
                   fmt::format("{} has no file `url`: no server was started on it; try "
                               "`dove up --data {}`",
                               data, data),
                   ""};
    }
  } else {
    TRY_ASSIGN(stored, in_known_places());
  }
  Endpoint endpoint;
  endpoint.url = url.empty() ? stored.url : url;
  endpoint.origin = url.empty() ? stored.origin : (invocation.has("url") ? "--url" : "DOVE_URL");
  if (endpoint.url.empty()) return no_server();
  endpoint.insecure =
      is_told_insecure(invocation) || (stored.insecure && names(stored.url, endpoint.url));
  if (!data.empty() && !url.empty()) {
    stored.url = url;  // both were named: the token is meant for it
    stored.token_file = data + "/token";
    stored.ca_file = ca_in(data);
  }
  endpoint.ca_file = environment_value("DOVE_CA_FILE");
  if (endpoint.ca_file.empty() && names(endpoint.url, stored.url)) {
    endpoint.ca_file = stored.ca_file;
  }
  TRY_ASSIGN(endpoint.token, find_token(stored, endpoint.url));
  if (!endpoint.token.empty()) TRY(wire::may_show_secrets(endpoint.url, endpoint.insecure));
  if (endpoint.token.empty()) endpoint.unix_socket = socket_of(stored, endpoint.url);
  return endpoint;
}

}  // namespace dove::cli
