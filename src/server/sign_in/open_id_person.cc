#include "server/sign_in/open_id_person.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/admit/admit.h"
#include "core/state/apply.h"
#include "listener/identity.h"
#include "server/sign_in/linux_person.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using openid::Provider;

constexpr std::size_t kGroupsMax = 256;

std::string text_of(const Json& claims, const std::string& name) {
  const auto found = claims.find(name);
  return found != claims.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<std::string> name_in(const Provider& provider, const Json& claims) {
  const std::string name = text_of(claims, provider.user_claim);
  if (name.empty()) {
    return Error{
        ErrorKind::kUnauthenticated, "no_user_claim",
        fmt::format("{} does not say what you are called (`{}`); an administrator can name "
                    "another claim with `user:`, or ask for another scope",
                    provider.title, provider.user_claim),
        provider.user_claim};
  }
  // Whoever may type any address there is not its owner yet.
  if (provider.user_claim == "email" && claims.value("email_verified", Json()) == Json(false)) {
    return Error{ErrorKind::kUnauthenticated, "bad_user_claim",
                 fmt::format("{} has not verified your e-mail address; verify it there first",
                             provider.title),
                 "email"};
  }
  if (listener::is_name(name) && !is_reserved(name)) return name;
  return Error{
      ErrorKind::kUnauthenticated, "bad_user_claim",
      fmt::format("{} calls you '{}', which no user here can be called; an administrator can "
                  "name another claim with `user:`",
                  provider.title, name.substr(0, 64)),
      provider.user_claim};
}

Result<UserDeclaration> new_user(const Provider& provider, const Json& claims,
                                 const std::string& name) {
  if (!provider.creates_users) {
    return Error{ErrorKind::kDenied, "user_unknown",
                 fmt::format("there is no user {} here; an administrator declares you first", name),
                 provider.user_claim};
  }
  UserDeclaration user;
  user.name = name;
  user.domain = provider.domain;
  if (provider.linux_user_claim.empty()) return user;
  user.linux_user = text_of(claims, provider.linux_user_claim);
  const bool is_fit = listener::is_name(user.linux_user) && user.linux_user.size() <= 32;
  if (is_fit && user.linux_user != "root") return user;
  return Error{ErrorKind::kUnauthenticated, "bad_user_claim",
               fmt::format("{} names no Linux user for {} (`{}`); an administrator can fix that "
                           "there, or declare the user here",
                           provider.title, name, provider.linux_user_claim),
               provider.linux_user_claim};
}

// A user who is declared here by the name that the issuer has for them.
Result<UserDeclaration> linked_user(const Provider& provider, UserDeclaration user) {
  if (!user.identity.empty() || !user.service_of.empty()) {
    return Error{ErrorKind::kDenied, "name_taken",
                 fmt::format("{} is somebody else here; an administrator can let you have another "
                             "name",
                             user.name),
                 provider.user_claim};
  }
  if (provider.links_users && user.domain == provider.domain) return user;
  if (provider.links_users) {
    return Error{ErrorKind::kDenied, "user_not_linked",
                 fmt::format("user {} here is of another domain than the people of {}; an "
                             "administrator can set `identity` of the user",
                             user.name, provider.title),
                 provider.user_claim};
  }
  return Error{
      ErrorKind::kDenied, "user_not_linked",
      fmt::format("user {} exists here but is not linked to your account; an "
                  "administrator can set `identity` of the user, or `links_users: true` and "
                  "the same `domain:` for {}",
                  user.name, provider.name),
      provider.user_claim};
}

Result<UserDeclaration> user_of(const core::State& state, const Provider& provider,
                                const Json& claims, const std::string& identity) {
  for (const auto& [name, user] : state.users) {
    if (user.identity == identity) return user;
  }
  TRY_ASSIGN(const std::string name, name_in(provider, claims));
  const auto declared = state.users.find(name);
  return declared == state.users.end() ? new_user(provider, claims, name)
                                       : linked_user(provider, declared->second);
}

// A group's name here. Some issuers name groups by paths, "/ml/vision", which becomes "ml.vision";
// a dot of theirs is doubled, or whoever may make "ml.vision" there would be in that group, too.
// "": no group here can have the name.
std::string group_name(const Provider& provider, std::string_view given) {
  if (given.starts_with('/')) given.remove_prefix(1);
  std::string name = provider.group_prefix;
  char last = '/';
  for (const char letter : given) {
    const bool begins_part = last == '/';
    const bool ends_part = letter == '/' && (last == '/' || last == '.');
    if (ends_part || (letter == '.' && begins_part)) return "";
    name += letter == '/' ? "." : letter == '.' ? ".." : std::string(1, letter);
    last = letter;
  }
  return last != '/' && last != '.' && listener::is_name(name) ? name : "";
}

// What cannot be a group here goes to `left_out`, the first few of it.
std::optional<std::set<std::string>> groups_in(const Provider& provider, const Json& claims,
                                               std::vector<std::string>& left_out) {
  constexpr std::size_t kLeftOutShown = 16;
  if (provider.groups_claim.empty()) return std::nullopt;
  std::set<std::string> groups;
  const auto found = claims.find(provider.groups_claim);
  if (found == claims.end()) return groups;
  const Json list = found->is_array() ? *found : Json::array({*found});
  for (const Json& each : list) {
    const std::string given = each.is_string() ? each.get<std::string>() : "";
    const std::string name = group_name(provider, given);
    if (!name.empty() && groups.size() < kGroupsMax) {
      groups.insert(name);
    } else if (left_out.size() < kLeftOutShown) {
      left_out.push_back(given.substr(0, 64));
    }
  }
  return groups;
}

class Changes {
 public:
  Changes(const core::State& state, const core::Policies& policies)
      : before_(state), policies_(policies) {}

  const core::State& state() const { return trial_.has_value() ? *trial_ : before_; }
  std::vector<Event> take() { return std::move(events_); }
  Result<void> make(Declared object) {
    const Event event = ObjectApplied{std::move(object)};
    if (!trial_.has_value()) trial_.emplace(before_);
    TRY(core::admit(*trial_, policies_, event));
    core::apply(*trial_, StampedEvent{event, Cause{}});
    events_.push_back(event);
    return {};
  }

 private:
  const core::State& before_;
  std::optional<core::State> trial_;  // with the changes, once there is one
  const core::Policies& policies_;
  std::vector<Event> events_;
};

// The user is in those groups of the provider that `wanted` names, and in no others of it.
Result<void> put_into_groups(Changes& changes, const Provider& provider, const std::string& user,
                             const std::set<std::string>& wanted) {
  std::vector<Group> changed;
  for (const auto& [name, group] : changes.state().groups) {
    if (!name.starts_with(provider.group_prefix) || group.domain != provider.domain) continue;
    const auto at = std::ranges::lower_bound(group.users, user);
    const bool is_in = at != group.users.end() && *at == user;
    if (is_in == wanted.contains(name)) continue;
    Group next = group;
    const auto place = next.users.begin() + (at - group.users.begin());
    if (is_in) {
      next.users.erase(place);
    } else {
      next.users.insert(place, user);
    }
    changed.push_back(std::move(next));
  }
  for (const std::string& name : wanted) {
    if (changes.state().groups.contains(name)) continue;
    changed.push_back(Group{name, provider.domain, {user}, {}});
  }
  for (Group& group : changed) TRY(changes.make(std::move(group)));
  return {};
}

}  // namespace

Result<OpenIdPerson> open_id_person(const core::State& state, const core::Policies& policies,
                                    const Provider& provider, const Json& claims) {
  const std::string identity = provider.issuer + " " + text_of(claims, "sub");
  TRY_ASSIGN(UserDeclaration user, user_of(state, provider, claims, identity));
  if (user.disabled) {
    return Error{ErrorKind::kUnauthenticated, "user_disabled",
                 fmt::format("user {} is disabled here; ask an administrator", user.name), "sub"};
  }
  OpenIdPerson person;
  person.user = user.name;
  Changes changes(state, policies);
  if (user.identity != identity) {
    user.identity = identity;
    TRY(changes.make(std::move(user)));
  }
  const auto groups = groups_in(provider, claims, person.groups_left_out);
  if (groups.has_value()) TRY(put_into_groups(changes, provider, person.user, *groups));
  person.changes = changes.take();
  return person;
}

}  // namespace dove::server
