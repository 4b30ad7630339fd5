// The mark of a data directory whose log is a copy that a follower keeps: DATA/follows, a line with
// the id of the cluster that it is of, and where that was.
//
// A controller does not start on such a log: the former one may still decide.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::programs {

constexpr const char kCopyMark[] = "follows";

// "": it is none.
std::string copied_cluster(const std::string& data_dir);
Result<void> mark_copy(const std::string& data_dir, const std::string& cluster,
                       const std::string& url);
// kConflict `log_is_a_copy`, with the remedy.
Result<void> check_no_copy(const std::string& data_dir);

}  // namespace dove::programs
