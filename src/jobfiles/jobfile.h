// Job files: somebody's tuxiv.conf, sbatch script, wrapped command or native YAML/JSON becomes a
// submission, with a warning for everything that was accepted but has no effect here.
//
// parse() is the one door. It never crashes on any input, never runs anything, and reads no file
// but through Context::read_file. A file is at most kFileBytesMax bytes, UTF-8, and YAML is at most
// 64 levels deep without aliases. Errors are kInvalid (kTooLarge for size); Error::field is the
// place
// ("job.sh:3:9"), the message says what to do. Pure and reentrant: any thread.
#pragma once

#include "base/result.h"
#include "jobfiles/arguments.h"
#include "jobfiles/source.h"

namespace dove::jobfiles {

Result<ParsedJob> parse(const Source& source, const Context& context);

}  // namespace dove::jobfiles
