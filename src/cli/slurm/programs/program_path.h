// Where the program of a step is, what it is called, and where its copies are.
//
// Include only from .cc files of this part. Pure, but for the first two.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace dove::cli {

// As Slurm's srun looks for one, which our words before it would keep from that: in `path`, then in
// `folder`, where the step runs. Without a slash it was not found there, or need not be.
// `is_whole`: its path, where `path` has it, too.
std::string found_program(const std::string& program, const std::string& path,
                          const std::string& folder, bool is_whole = false);

// The first program of that name in the folders of `path` which is `wanted`; "": none.
std::string first_in_path(const std::string& name, const std::string& path,
                          const std::function<bool(const std::filesystem::path&)>& wanted);

// What a step is called where nobody names it: the program's file, without folders.
std::string program_name(const std::string& program);

// What the name of a copy ends in, in place of the node's.
inline constexpr std::string_view kOfNode = "_%N";

// Where a copy is: as --bcast says it, from `folder`. A folder gets one that has the number of the
// job and of srun's process, and ends in kOfNode.
std::string copy_path(const std::string& given, const std::string& folder, const std::string& job,
                      int process);

}  // namespace dove::cli
