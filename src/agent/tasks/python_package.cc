#include "agent/tasks/python_package.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "files/text_file.h"

namespace dove::agent {
namespace {

Error not_there(const std::string& why) {
  return Error{ErrorKind::kInvalid, "data_dir",
               fmt::format("{}; jobs would not find the package dove there", why), ""};
}

}  // namespace

Result<void> write_python_package(const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path package = fs::path(directory) / "dove";
  constexpr fs::perms kForAll = fs::perms::owner_all | fs::perms::group_read |
                                fs::perms::group_exec | fs::perms::others_read |
                                fs::perms::others_exec;
  std::error_code error;
  fs::create_directories(package, error);
  for (const fs::path& each : {fs::path(directory), package}) {
    if (!error) fs::permissions(each, kForAll, error);
  }
  for (const EmbeddedFile& file : python_package()) {
    if (error) break;
    const Result<void> written =
        files::write_atomically((package / file.name).string(), file.text, 0644);
    if (!written.ok()) return not_there(written.error().message);
  }
  if (!error) return {};
  return not_there(fmt::format("{}: {}", directory, error.message()));
}

}  // namespace dove::agent
