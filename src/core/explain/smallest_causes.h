// The smallest set of causes for which a job has no place: without all of them decide's search
// finds places, and with any one of them left it does not. explain_places.h defines each cause.
// Pure.
#pragma once

#include "core/explain/place_causes.h"
#include "model/job.h"

namespace dove::core {

// `spec` is of the job that the causes are of. 0: it would find places.
Causes smallest_causes(PlaceCauses& causes, const JobSpec& spec);

}  // namespace dove::core
