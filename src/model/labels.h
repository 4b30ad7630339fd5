// Labels: what people sort and find declared objects by. They decide nothing.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "model/field_rules.h"

namespace dove {

using Labels = std::map<std::string, std::string>;  // values by name

constexpr TextRule kLabelNameRule{64, TextRule::Kind::kName};
constexpr TextRule kLabelValueRule{1024, TextRule::Kind::kAny};
constexpr std::size_t kLabelsMax = 64;  // of one job or object

}  // namespace dove
