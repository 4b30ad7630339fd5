// dove login, dove logout: a key of one's own in this machine's configuration, by way of a browser.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/views.h"
#include "cli/commands/people/passwd.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "files/text_file.h"
#include "wire/address.h"
#include "yaml/writer.h"

namespace dove::cli {
namespace {

using nlohmann::json;

std::string token_path() { return config_directory() + "/token"; }

Error cannot_write(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kInvalid, "cannot_write",
               fmt::format("{}: {}; the key is not kept, and can be revoked with `dove key list`",
                           path, why),
               path};
}

std::string who_asks() {
  std::array<char, 65> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return "dove";
  return fmt::format("dove on {}", host.data()).substr(0, 64);
}

// What names the authorities, and the file that it names.
struct Named {
  std::string by;
  std::string path;
};

Named authorities_named(const Invocation& invocation, const Endpoint& known) {
  if (invocation.has("ca-file")) return {"--ca-file", invocation.get("ca-file")};
  const std::string given = environment_value("DOVE_CA_FILE");
  if (!given.empty()) return {"DOVE_CA_FILE", given};
  return {"ca_file of the configuration", known.ca_file};
}

// An absolute path, so that the configuration is good in any directory.
Result<std::string> authority_file(const Invocation& invocation, const Endpoint& known) {
  const Named named = authorities_named(invocation, known);
  if (named.path.empty()) return named.path;
  char* found = ::realpath(named.path.c_str(), nullptr);
  if (found == nullptr) {
    return Error{ErrorKind::kNotFound, "cannot_read",
                 fmt::format("{}: cannot be read (named by {})", named.path, named.by), named.by};
  }
  std::string path(found);
  std::free(found);
  return path;
}

// Where to sign in: the operand, or the server that is known already.
Result<Endpoint> server_of(const Invocation& invocation) {
  const auto known = find_endpoint(invocation);
  Endpoint to;
  if (invocation.operands.empty()) {
    if (!known.ok() && known.error().code == "insecure_url") return known.error();
    if (!known.ok()) {
      return usage_error("say where to sign in, as in `dove login https://gpu-head:7717`");
    }
    to.url = known->url;
  } else {
    to.url = invocation.operands[0];
    if (to.url.find("://") == std::string::npos) to.url = "https://" + to.url;
    while (to.url.ends_with('/')) to.url.pop_back();
  }
  to.origin = "dove login";
  const bool is_known = known.ok() && known->url == to.url;
  TRY_ASSIGN(to.ca_file, authority_file(invocation, is_known ? *known : Endpoint{}));
  // A key is given to whoever reads along.
  to.insecure = is_told_insecure(invocation) || (is_known && known->insecure);
  TRY(wire::may_show_secrets(to.url, to.insecure));
  return to;
}

Result<json> wait_for_answer(Api& api, const json& begun) {
  while (true) {
    TRY_ASSIGN(json answer,
               api.send("POST", "/v1/device-sign-ins/wait",
                        {{"device_code", text_of(begun, "device_code")}, {"wait_s", 25}}));
    if (answer.contains("key")) return answer;
  }
}

Result<void> keep(const Endpoint& endpoint, const std::string& key) {
  const std::string folder = config_directory();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return cannot_write(folder, error.message());
  const auto token = files::write_atomically(token_path(), key + "\n", 0600);
  if (!token.ok()) return cannot_write(token_path(), token.error().message);
  std::vector<std::pair<std::string, std::string>> fields = {{"url", endpoint.url},
                                                             {"token_file", token_path()}};
  if (!endpoint.ca_file.empty()) fields.emplace_back("ca_file", endpoint.ca_file);
  if (endpoint.insecure) fields.emplace_back("insecure", "true");
  const std::string path = folder + "/config.yaml";
  const auto config = files::write_atomically(path, yaml::lines_of(fields), 0600);
  if (!config.ok()) return cannot_write(path, config.error().message);
  return {};
}

Result<int> run_login(const Invocation& invocation) {
  TRY_ASSIGN(const Endpoint endpoint, server_of(invocation));
  Api api(endpoint);
  TRY_ASSIGN(const json begun, api.send("POST", "/v1/device-sign-ins", {{"name", who_asks()}}));
  print(fmt::format("{}{}\n", endpoint.url, text_of(begun, "path")));
  say(fmt::format(
      "open this in a browser within ten minutes, sign in, and let the program in if the "
      "page shows {}",
      text_of(begun, "user_code")));
  TRY_ASSIGN(const json key, wait_for_answer(api, begun));
  TRY(keep(endpoint, text_of(key, "key")));
  say(fmt::format("signed in as {} until {}; `dove logout` ends it", text_of(key, "user"),
                  text_of(key, "expires_at")));
  return kExitOk;
}

Result<int> run_logout(const Invocation& invocation) {
  const Result<std::string> token = read_line_file(token_path());
  if (!token.ok()) {
    say("nobody is signed in with `dove login` here");
    return kExitOk;
  }
  TRY_ASSIGN(Endpoint endpoint, find_endpoint(invocation));
  // Else the key would go to a server that it is not for.
  if (endpoint.token != *token) {
    return usage_error(
        "the server or token in use is not that of `dove login`: unset DOVE_URL, DOVE_TOKEN, "
        "DOVE_TOKEN_FILE and DOVE_DATA, and leave out --url and --data");
  }
  endpoint.unix_socket.clear();
  Api api(endpoint);
  const auto me = api.get("/v1/me");
  // A key that has ended is as good as revoked.
  if (!me.ok() && me.error().kind != ErrorKind::kUnauthenticated) return me.error();
  if (me.ok() && (*me)["key"].is_object()) {
    TRY(api.send("DELETE", "/v1/keys/" + text_of((*me)["key"], "id"), nullptr));
  }
  if (::unlink(token_path().c_str()) != 0) return cannot_write(token_path(), "cannot be removed");
  say("signed out: the key is revoked and forgotten");
  return kExitOk;
}

}  // namespace

std::vector<Command> login_commands() {
  CommandSpec login;
  login.name = "login";
  login.summary = "Sign in to a cluster through a browser";
  login.group = "People";
  login.operands = "[URL]";
  login.operands_max = 1;
  login.description =
      "Prints a link. Whoever opens it, signs in and agrees lets this machine act in their name:\n"
      "a key that is valid for 30 days is kept in the configuration directory, with the URL, for\n"
      "later commands. Without URL it signs in to the server that is already configured.";
  login.options = {
      {"ca-file", 0, "FILE", "the authorities of an https:// server in PEM (DOVE_CA_FILE)", false},
  };
  CommandSpec logout;
  logout.name = "logout";
  logout.summary = "Revoke and forget the key of `dove login`";
  logout.group = "People";
  return {{login, guarded("login", run_login)},
          {logout, guarded("logout", run_logout)},
          passwd_command()};
}

}  // namespace dove::cli
