#include "cli/slurm/programs/program_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "text/words.h"

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
  const std::string there = first_in_path(program, path, [](const fs::path&) { return true; });
  if (!there.empty()) return is_whole ? there : program;
  const fs::path here = fs::path(folder) / program;
  return is_program(here) ? here.string() : program;
}

std::string first_in_path(const std::string& name, const std::string& path,
                          const std::function<bool(const fs::path&)>& wanted) {
  for (const std::string_view folder : text::words_of(path, ":")) {
    const fs::path there = fs::path(folder) / name;
    if (is_program(there) && wanted(there)) return there.string();
  }
  return "";
}

std::string program_name(const std::string& program) {
  return program.substr(program.rfind('/') + 1);
}

std::string copy_path(const std::string& given, const std::string& folder, const std::string& job,
                      int process) {
  std::string path = given.starts_with('/') ? given : folder + "/" + given;
  if (path.ends_with('/')) path += fmt::format("slurm_bcast_{}.{}{}", job, process, kOfNode);
  return path;
}

}  // namespace dove::cli
