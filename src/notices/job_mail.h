// Mail that a job asks for itself (JobSpec::mail_about), besides what its user has chosen.
//
// It goes to `mail_to`, or to the addresses that its user has chosen for anything. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/state/state.h"
#include "model/job.h"
#include "model/people.h"

namespace dove::notices {

// Whether the job asks for it.
bool asks_for(const JobSpec& spec, NoticeAbout about);
// Where its mail goes, each with what the job asks for; none: it asks for nothing, its user is
// disabled, or has no address.
std::vector<NoticeTarget> job_targets(const core::State& state, const JobSpec& spec);
// What the user has chosen, then what the job asks for, if it is about one. What is in both leads
// to the same place, so it has one id, and is sent once.
std::vector<NoticeTarget> targets_for(const core::State& state, const std::string& user, JobId job);
// The one with that id (notices/target.h), of any job of the user.
std::optional<NoticeTarget> find_job_target(const core::State& state, const std::string& user,
                                            const std::string& id);

}  // namespace dove::notices
