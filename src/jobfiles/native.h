// The API's submission object, as YAML or JSON in a file or as a value. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "jobfiles/source.h"

namespace dove::jobfiles {

// Command line options change the job: sizes only where it has one task group.
Result<ParsedJob> parse_native(const Source& source, const Context& context);

// The same for a job that is a value already. `name` is where it comes from.
Result<ParsedJob> finish_native(codec::Submission submission, const std::string& name,
                                const Context& context);

}  // namespace dove::jobfiles
