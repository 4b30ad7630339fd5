// Provider: a sign-in service (OpenID Connect) that people of this cluster have accounts at, as the
// administrator's file says.
//
//   providers:
//     - name: corp                                  # in addresses and messages
//       title: Example Corp                         # on the sign-in page's button
//       issuer: https://id.example.org/realms/hpc
//       client_id: dove
//       client_secret_file: /etc/dove/corp.secret   # left out: a public client
//
// docs/operate/sign_in.md has all fields. Values only, any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dove::openid {

struct Provider {
  std::string name;
  std::string title;  // for people
  std::string issuer;
  std::string client_id;
  std::string client_secret;  // "": a public client
  std::vector<std::string> scopes = {"openid", "profile", "email"};
  std::string user_claim = "preferred_username";  // names the user here
  std::string linux_user_claim;                   // "": new users have no Linux user
  std::string groups_claim;                       // "": their groups are left alone
  std::string group_prefix;                       // of the groups here; with groups_claim
  std::string domain;                             // of users and groups that are made
  bool creates_users = true;                      // else only those that are declared get in
  bool links_users = false;                       // declared users of the same name are theirs
  std::string url;      // of this server, as browsers reach it; "": as they name it
  std::string ca_file;  // of the issuer's authorities; "": the system's
};

// Errors: kNotFound cannot_read; kInvalid bad_sign_in_file, which names file, line and remedy.
Result<std::vector<Provider>> read_providers(const std::string& path);

// https://, or http:// of this machine, which tests use.
bool is_safe_url(std::string_view url);
// "https://host:8443" and "/path?query" of a URL.
std::pair<std::string, std::string> split_url(const std::string& url);

}  // namespace dove::openid
