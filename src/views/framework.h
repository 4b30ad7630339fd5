// Which framework of training a job's program is started by, as far as it shows.
//
// Pure. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace dove::views {

// `exec`: what the job runs, as codec::exec_json() writes it. "pytorch", "tensorflow", "mpi", or ""
// when nothing shows it. Its launcher counts most (torchrun, mpirun, TF_CONFIG), then the name of
// its image. No more than the first 64 KiB of a script are read, and no lines of comments.
std::string_view framework_of(const nlohmann::json& exec);

// The same of that JSON's text. Most show nothing, and those are not parsed.
std::string_view framework_of_text(std::string_view exec);

}  // namespace dove::views
