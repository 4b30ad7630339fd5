#include "agent/tasks/python_package.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace dove::agent {

Result<void> write_python_package(const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path package = fs::path(directory) / "dove";
  constexpr fs::perms kForAll = fs::perms::owner_all | fs::perms::group_read |
                                fs::perms::group_exec | fs::perms::others_read |
                                fs::perms::others_exec;
  constexpr fs::perms kExecutable =
      fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  std::error_code error;
  fs::create_directories(package, error);
  for (const fs::path& each : {fs::path(directory), package}) {
    if (!error) fs::permissions(each, kForAll, error);
  }
  for (const EmbeddedFile& file : python_package()) {
    if (error) break;
    const fs::path path = package / file.name;
    const fs::path fresh = path.string() + ".new";
    std::ofstream(fresh, std::ios::binary | std::ios::trunc) << file.text;
    fs::permissions(fresh, kForAll & ~kExecutable, error);
    if (!error) fs::rename(fresh, path, error);
  }
  if (!error) return {};
  return Error{
      ErrorKind::kInvalid, "data_dir",
      fmt::format("{}: {}; jobs would not find the package dove there", directory, error.message()),
      ""};
}

}  // namespace dove::agent
