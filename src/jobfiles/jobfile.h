// Job files: somebody's tuxiv.conf, sbatch script, wrapped command or native YAML/JSON becomes a
// submission, with a warning for everything that was accepted but has no effect here.
//
// parse() reads text, complete() takes a job that is no text: a command, an app. Neither ever
// crashes, runs anything, or reads a file but through Context::read_file. A file is at most
// kFileBytesMax bytes, UTF-8, and YAML is at most 64 levels deep without aliases. Errors are
// kInvalid (kTooLarge for size); Error::field is the place ("job.sh:3:9"), the message says what to
// do. Pure and reentrant: any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "jobfiles/arguments.h"
#include "jobfiles/source.h"

namespace dove::jobfiles {

Result<ParsedJob> parse(const Source& source, const Context& context);

// Where a job comes from that somebody typed, rather than wrote to a file.
inline constexpr char kTyped[] = "command line";

// A job whose one task of one core runs `command`, named after its program.
// REQUIRES: `command` is not empty.
codec::Submission command_job(const std::vector<std::string>& command);

// Applies the context's options to a job, as parse() does to that of a file. `name` is where the
// job comes from; errors in one of kTyped name options rather than fields.
Result<ParsedJob> complete(codec::Submission job, const std::string& name, const Context& context);

}  // namespace dove::jobfiles
