// A small file of this user's by which the sruns of a machine know of each other.
//
// Include only from .cc files of this part. One thread.
#pragma once

#include <string>

#include "files/descriptor.h"

namespace dove::cli {

// Makes it where it is missing. Others may write where temporary files are: what is another user's,
// no regular file, a link or a second name is not opened.
files::Descriptor open_own_file(const std::string& path);

}  // namespace dove::cli
