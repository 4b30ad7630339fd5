// Placements that Slurm runs, in the messages between adapter and controller.
//
// Include only from .cc files of this part.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "codec/json_fields.h"
#include "slurm/works/work.h"

namespace dove::slurm {

nlohmann::json works_json(const std::vector<WorkReport>& works);
// Whose placement an entry of an answer is about.
void read_key(codec::JsonFields& fields, PlaceholderKey& key);
void read_work(codec::JsonFields& fields, WantedWork& work);

}  // namespace dove::slurm
