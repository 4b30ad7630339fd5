#include "accounts/secrets.h"

#include <fmt/format.h>

namespace dove::accounts {

std::string secret_path(const std::string& user, const std::string& project,
                        const std::string& name) {
  return project.empty() ? fmt::format("user/{}/{}", user, name)
                         : fmt::format("project/{}/{}", project, name);
}

std::string secret_name(const Secret& secret) {
  return secret.name.substr(secret.name.rfind('/') + 1);
}

Result<const Secret*> secret_of(const core::State& state, const JobSpec& spec,
                                const std::string& named) {
  const std::size_t slash = named.rfind('/');
  const bool is_projects = slash != std::string::npos;
  const std::string project = is_projects ? named.substr(0, slash) : "";
  const std::string name = is_projects ? named.substr(slash + 1) : named;
  if (is_projects && project != spec.project) {
    return Error{ErrorKind::kInvalid, "secret_elsewhere",
                 fmt::format("the secret {} is for jobs of project \"{}\", and this job is {}; "
                             "submit it for that project, or take a secret of your own",
                             named, project,
                             spec.project.empty() ? std::string("of no project")
                                                  : fmt::format("of project \"{}\"", spec.project)),
                 "secret"};
  }
  const auto found = state.secrets.find(secret_path(spec.user, project, name));
  if (found != state.secrets.end()) return &found->second;
  const std::string remedy =
      is_projects
          ? fmt::format("a manager of the project sets it with `dove secret set {} --project {}`",
                        name, project)
          : fmt::format("set it with `dove secret set {}`; one of a project is named PROJECT/{}",
                        name, name);
  return Error{ErrorKind::kInvalid, "secret_unknown",
               fmt::format("{} has no secret {}; {}",
                           is_projects ? fmt::format("project \"{}\"", project)
                                       : fmt::format("user {}", spec.user),
                           name, remedy),
               "secret"};
}

}  // namespace dove::accounts
