// The API's submission object, as YAML or JSON in a file. Pure.
#pragma once

#include "base/result.h"
#include "jobfiles/source.h"

namespace dove::jobfiles {

// Command line options change the job: sizes only where it has one task group.
Result<ParsedJob> parse_native(const Source& source, const Context& context);

}  // namespace dove::jobfiles
