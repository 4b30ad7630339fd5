// JobPrograms: what lists and pages of jobs need from the jobs' programs.
//
// A program lies in the store by its digest. It is found here if it is in memory or if the store is
// local. Loop thread only. Include only from .cc files of this part: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/context.h"
#include "server/lists/wanted_labels.h"

namespace dove::server {

// The job's ExecSpec; null when it is not there.
nlohmann::json exec_json(Context& context, const core::Job& job);
// Whether it must be read from the store first, which this begins.
bool is_unread(Context& context, const core::Job& job);

// Whether it serves an app that the caller may enter.
bool is_way_in(Context& context, const Call& call, const core::Job& job);
// How whoever may enter its app gets there, what it runs in, and who else may.
void show_session(Context& context, const Call& call, const core::Job& job, nlohmann::json& body);
// As far as what it runs is in memory; else that is read for the next time.
void show_framework(Context& context, const core::Job& job, nlohmann::json& body);

// Whether it has all of the labels, and the caller may know: labels are the job's own business, as
// its environment is.
bool has_labels(Context& context, const Call& call, const core::Job& job,
                const WantedLabels& wanted);

}  // namespace dove::server
