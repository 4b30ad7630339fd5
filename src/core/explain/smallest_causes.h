// A smallest set of causes why a job has no place: with all of them gone the search that decide
// does finds places, with any one of them left it does not (explain_places.h says what each means).
// Pure.
#pragma once

#include "core/explain/place_causes.h"
#include "model/job.h"

namespace dove::core {

// `spec` is of the job that the causes are of. 0: it would find places.
Causes smallest_causes(PlaceCauses& causes, const JobSpec& spec);

}  // namespace dove::core
