// WantedLabels: the filter `labels=NAME=VALUE` of lists.
//
// Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/labels.h"
#include "server/context.h"

namespace dove::server {

// "NAME=VALUE" of each label that an entry must have.
using WantedLabels = std::vector<std::string>;

// As often as the query has one. Error: kInvalid bad_parameter.
Result<WantedLabels> read_wanted_labels(const Call& call);

// Whether an object has all of them.
bool has_labels(const Labels& own, const WantedLabels& wanted);

}  // namespace dove::server
