// What programs write for people to read and edit. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dove::yaml {

// One line for each name with its text, in this order, quoted where YAML would read it as something
// else.
std::string lines_of(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace dove::yaml
