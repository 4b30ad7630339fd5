// StrayFiles: files that users put into a directory of the agent in addition to the intended ones.
//
// It works by descriptors, never through a link, and a little at a time, because the loop waits for
// it.
#pragma once

#include <cstdint>

namespace dove::agent {

// Removes `name` in the open directory with all that is below it, as long as `entries` lasts.
void remove_stray(int directory, const char* name, int& entries);

// A plain file that is larger than `bytes_max` is emptied, and removed; one that has another name,
// too, is only removed here.
void bound_file(int directory, const char* name, std::int64_t bytes_max);

}  // namespace dove::agent
