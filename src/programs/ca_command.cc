// dove ca: the authority of a controller's data directory.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/client/api.h"
#include "cli/client/pages.h"
#include "files/text_file.h"
#include "programs/commands.h"
#include "programs/service/authorities.h"
#include "programs/settings.h"
#include "telemetry/clock.h"

namespace dove::programs {
namespace {

constexpr std::size_t kFileBytesMax = 256 << 10;

std::string data_of(const cli::Invocation& invocation) {
  return std::filesystem::absolute(invocation.get("data", server_data_here()));
}

int fail(const Error& error) {
  fmt::print(stderr, "dove ca: {}\n", error.message);
  return cli::exit_code(error);
}

int show(const cli::Invocation& invocation) {
  const std::string path = data_of(invocation) + "/ca.pem";
  const Result<std::string> text = files::read_text(path, kFileBytesMax);
  if (!text.ok()) {
    return fail(Error{text.error().kind, text.error().code,
                      text.error().message +
                          "; the authority is made by `dove ca init`, or at the first start of a "
                          "server with TLS",
                      path});
  }
  const Result<wire::CertificateFacts> facts = wire::read_certificate(*text);
  if (!facts.ok()) return fail(facts.error());
  // While one authority follows another, clients are to know both.
  const std::string next =
      files::text_or_empty(data_of(invocation) + "/ca.next.pem", kFileBytesMax);
  fmt::print("{}{}", *text, next);
  fmt::print(stderr, "digest: {}\n", facts->key_digest);
  return cli::kExitOk;
}

int init(const cli::Invocation& invocation) {
  const std::string data = data_of(invocation);
  std::error_code error;
  std::filesystem::create_directories(data, error);
  if (std::filesystem::exists(data + "/ca.pem")) {
    return fail(Error{ErrorKind::kConflict, "authority_exists",
                      data + "/ca.pem is there already; every node trusts it, and it stays", data});
  }
  const Result<wire::Authority> made = open_authority(data, invocation.get("cluster-name", "dove"));
  if (!made.ok()) return fail(made.error());
  fmt::print("{}/ca.pem\n", data);
  fmt::print(stderr, "digest: {}\nkeep {}/ca.key as you keep a password\n", made->digest(), data);
  return cli::kExitOk;
}

// Nodes that the server has, and which have no certificate of the next authority yet.
Result<std::vector<std::string>> left_behind(const cli::Invocation& invocation,
                                             const std::string& data, const std::string& digest) {
  cli::Invocation at_home = invocation;
  at_home.values["data"] = {data};
  TRY_ASSIGN(cli::Api api, cli::Api::connect(at_home));
  TRY_ASSIGN(const nlohmann::json nodes, cli::get_all(api, "/v1/nodes", "nodes"));
  const std::set<std::string> all = followers(data, digest);
  std::vector<std::string> left;
  for (const nlohmann::json& node : nodes.at("nodes")) {
    const auto name = node.at("name").get<std::string>();
    if (!all.contains(name)) left.push_back(name);
  }
  return left;
}

Result<void> rotate(const cli::Invocation& invocation) {
  const std::string data = data_of(invocation);
  const Result<wire::Authority> made =
      begin_rotation(data, invocation.get("cluster-name", "dove"), telemetry::now_us() / 1'000'000);
  if (made.ok()) {
    fmt::print(
        "{0}/ca.next.pem\nNodes take it over with their next certificate, within a day. Give `dove "
        "ca show` to clients on other machines, which is both authorities now. `dove ca rotate` "
        "shows which nodes have not followed; then `dove ca rotate --finish`.\n",
        data);
    return {};
  }
  if (made.error().code != "rotation_under_way") return made.error();
  TRY_ASSIGN(const Authorities both, open_authorities(data, "dove"));
  TRY_ASSIGN(const std::vector<std::string> left,
             left_behind(invocation, data, both.next->digest()));
  if (!invocation.has("finish")) {
    if (left.empty()) {
      fmt::print("all nodes have followed\n");
    } else {
      fmt::print("{} nodes have not followed: {}\n", left.size(), fmt::join(left, ", "));
    }
    return {};
  }
  if (!left.empty() && !invocation.has("force")) {
    return Error{ErrorKind::kConflict, "not_followed",
                 fmt::format("{} nodes have not followed, and would have to join again: {}; wait, "
                             "remove them, or say --force",
                             left.size(), fmt::join(left, ", ")),
                 ""};
  }
  TRY(finish_rotation(data));
  fmt::print("{}/ca.pem is the new authority; clients no longer need the former one\n", data);
  return {};
}

int run_rotate(const cli::Invocation& invocation) {
  const Result<void> done = rotate(invocation);
  return done.ok() ? cli::kExitOk : fail(done.error());
}

cli::CommandSpec spec(const char* name, const char* summary, const char* description) {
  cli::CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.group = "Programs";
  spec.description = description;
  spec.options = {{"data", 0, "DIR", kServerDataHelp, false}};
  return spec;
}

}  // namespace

cli::Command ca_show_command() {
  return {spec("ca show", "Print the certificate of a cluster's authority",
               "Clients on other machines name the file with DOVE_CA_FILE, or as `ca_file:` in\n"
               "config.yaml. Its digest, on standard error, is what join tokens carry."),
          show};
}

cli::Command ca_init_command() {
  cli::CommandSpec init_spec =
      spec("ca init", "Make a cluster's certificate authority before its first start",
           "The first start of a server with TLS makes one by itself. An authority can be made on\n"
           "another machine and its two files, ca.pem and ca.key, put into the data directory.");
  init_spec.options.push_back({"cluster-name", 0, "NAME", "the authority's name (dove)", false});
  return {init_spec, init};
}

cli::Command ca_rotate_command() {
  cli::CommandSpec rotate_spec = spec(
      "ca rotate", "Replace the cluster's certificate authority by another",
      "Run it on the controller's machine, as root or as the server's user, while the server\n"
      "runs; nothing is restarted. The first call makes the next authority. Further calls show\n"
      "which nodes have no certificate from it yet. With --finish the server presents a\n"
      "certificate from the next authority and no longer trusts the former one. The server cannot\n"
      "see which clients know the next authority: those on this machine and in jobs do, others\n"
      "need the file that `dove ca show` prints.");
  rotate_spec.options.push_back({"finish", 0, "", "the next authority takes over", false});
  rotate_spec.options.push_back(
      {"force", 0, "", "with --finish: even if nodes have not followed", false});
  rotate_spec.options.push_back(
      {"cluster-name", 0, "NAME", "the next authority's name (dove)", false});
  return {rotate_spec, run_rotate};
}

}  // namespace dove::programs
