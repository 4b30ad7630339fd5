#include "notices/job_mail.h"

#include <algorithm>

#include "notices/target.h"

namespace dove::notices {

bool asks_for(const JobSpec& spec, NoticeAbout about) {
  return std::ranges::find(spec.mail_about, about) != spec.mail_about.end();
}

std::vector<NoticeTarget> job_targets(const core::State& state, const JobSpec& spec) {
  if (spec.mail_about.empty()) return {};
  const auto user = state.users.find(spec.user);
  if (user != state.users.end() && user->second.disabled) return {};
  if (!spec.mail_to.empty()) return {{NoticeBy::kMail, spec.mail_to, spec.mail_about}};
  std::vector<NoticeTarget> out;
  if (user == state.users.end()) return out;
  for (const NoticeTarget& target : user->second.notices) {
    if (target.by != NoticeBy::kMail) continue;
    out.push_back({NoticeBy::kMail, target.to, spec.mail_about});
  }
  return out;
}

std::vector<NoticeTarget> targets_for(const core::State& state, const std::string& user, JobId id) {
  std::vector<NoticeTarget> targets;
  const auto found = state.users.find(user);
  if (found != state.users.end()) targets = found->second.notices;
  const core::Job* job = state.find_job(id);
  if (job == nullptr) return targets;
  for (NoticeTarget& more : job_targets(state, *job->spec)) targets.push_back(std::move(more));
  return targets;
}

std::optional<NoticeTarget> find_job_target(const core::State& state, const std::string& user,
                                            const std::string& id) {
  for (const auto& [number, job] : state.jobs) {
    if (job.spec->mail_about.empty() || job.spec->user != user) continue;
    for (NoticeTarget& target : job_targets(state, *job.spec)) {
      if (target_id(user, target) == id) return std::move(target);
    }
  }
  return std::nullopt;
}

}  // namespace dove::notices
