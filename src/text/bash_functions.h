// Functions that bash exports (variables such as BASH_FUNC_module%%), past a plain sh, which keeps
// no variable with such a name. They go in other variables, never in a command line that stays,
// which all users of the machine can read. Pure.
#pragma once

#include <map>
#include <string>

namespace dove::text {

// Puts them in variables that every shell keeps.
void pack_functions(std::map<std::string, std::string>& environment);

// For sh, before `exec "$@"`: has env put them back.
extern const char kUnpack_functions[];

}  // namespace dove::text
