#include "cli/slurm/programs/program_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace dove::cli {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

}  // namespace

std::string found_program(const std::string& program, const std::string& path,
                          const std::string& folder, bool is_whole) {
  if (program.empty() || program.find('/') != std::string::npos) return program;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const fs::path there = fs::path(path.substr(at, end - at)) / program;
    if (end > at && is_program(there)) return is_whole ? there.string() : program;
    at = end + 1;
  }
  const fs::path here = fs::path(folder) / program;
  return is_program(here) ? here.string() : program;
}

std::string program_name(const std::string& program) {
  return program.substr(program.rfind('/') + 1);
}

std::string copy_path(const std::string& given, const std::string& folder, const std::string& job,
                      int number) {
  std::string path = given.starts_with('/') ? given : folder + "/" + given;
  if (path.ends_with('/')) path += fmt::format("slurm_bcast_{}.{}{}", job, number, kOfNode);
  return path;
}

}  // namespace dove::cli
