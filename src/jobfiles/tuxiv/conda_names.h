// What conda's packages are called in the Python package index.
//
// Two name spaces: conda's `snappy` is a C library, the index's is something else, and anybody may
// take a free name there. So only names listed here are ever given to pip; a name that is missing
// is left out, never guessed. The list says that both names are the same project's. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dove::jobfiles {

// pip's name of conda's package (lower case), "" when none is known.
std::string_view python_package(std::string_view conda);

// Known to hold no Python package: libraries, compilers, tools, conda's own markers.
bool only_of_conda(std::string_view conda);

}  // namespace dove::jobfiles
