// Where something was written, and errors that say so. Pure.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::text {

// line and column count from 1, in bytes; 0 where there are none (command line, environment).
struct Place {
  std::string file;  // its name, or "command line", or "environment"
  int line = 0;
  int column = 0;
};

// "job.sh:3:9", "command line".
std::string to_text(const Place& place);

// The error with its place: in front of the message and as Error::field. An error that has a field
// knows a more precise place and stays as it is.
Error at_place(Error error, const Place& place);

}  // namespace dove::text
