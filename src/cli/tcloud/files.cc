// tcloud upload, download, ls, cat: files of USERDIR. The directory is one that this machine shares
// with the nodes, so these are copies; nothing leads out of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "cli/face.h"
#include "cli/families.h"
#include "cli/tcloud/paths.h"
#include "cli/terminal/output.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

namespace fs = std::filesystem;

Error failed(const std::string& path, const std::error_code& error) {
  return Error{ErrorKind::kInvalid, "copy_failed", fmt::format("{}: {}", path, error.message()),
               ""};
}

Result<void> copy_tree(const fs::path& from, const fs::path& to, bool cover) {
  std::error_code error;
  if (!fs::exists(from, error))
    return Error{ErrorKind::kNotFound, "not_found",
                 fmt::format("{}: no such file or directory", from.string()), ""};
  if (cover && fs::is_directory(to, error)) fs::remove_all(to, error);
  fs::create_directories(to.parent_path(), error);
  const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing |
                       fs::copy_options::copy_symlinks;
  fs::copy(from, to, options, error);
  if (error) return failed(from.string(), error);
  return {};
}

// rsync's rule: "dir" is copied as dir, "dir/" is what it holds.
fs::path target_of(const std::string& from, const fs::path& folder, bool folder_named) {
  std::error_code error;
  const fs::path source = fs::path(from);
  if (from.ends_with('/')) return folder;
  if (!folder_named || fs::is_directory(folder, error))
    return folder / fs::absolute(source).filename();
  return folder;
}

Result<int> run_upload(const Invocation& invocation) {
  const std::string& from = invocation.operands[0];
  const bool named = invocation.operands.size() > 1;
  TRY_ASSIGN(const std::string folder, below_userdir(named ? invocation.operands[1] : "."));
  std::error_code error;
  fs::create_directories(tcloud_userdir(), error);
  const fs::path to = target_of(from, folder, named);
  TRY(copy_tree(from, to, invocation.has("cover")));
  print(fmt::format("{} -> {}\n", from, to.string()));
  return 0;
}

Result<int> run_download(const Invocation& invocation) {
  TRY_ASSIGN(const std::string from, below_userdir(invocation.operands[0]));
  std::error_code error;
  if (fs::is_directory(from, error) && !invocation.has("recursive")) {
    return usage_error(fmt::format("{}: is a directory: give -r", invocation.operands[0]));
  }
  const std::string where = invocation.operands.size() > 1 ? invocation.operands[1] : ".";
  const fs::path to = target_of(from, where, invocation.operands.size() > 1);
  TRY(copy_tree(from, to, false));
  print(fmt::format("{} -> {}\n", from, to.string()));
  return 0;
}

void list(const fs::path& folder, const Invocation& invocation) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string()[0] != '.' || invocation.has("all"))
      entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!invocation.has("long")) {
      print(name + "\n");
      continue;
    }
    const bool is_folder = entry.is_directory(error);
    const auto size = is_folder ? 0 : entry.file_size(error);
    print(fmt::format("{} {:>8} {}\n", is_folder ? 'd' : '-',
                      bytes_text(static_cast<std::int64_t>(error ? 0 : size)), name));
  }
  if (!invocation.has("recursive")) return;
  for (const fs::directory_entry& entry : entries) {
    if (!entry.is_directory(error) || entry.is_symlink(error)) continue;
    print(fmt::format("\n{}:\n", entry.path().string()));
    list(entry.path(), invocation);
  }
}

Result<int> run_ls(const Invocation& invocation) {
  const std::string asked = invocation.operands.empty() ? "." : invocation.operands[0];
  TRY_ASSIGN(const std::string path, below_userdir(asked));
  std::error_code error;
  if (fs::is_directory(path, error)) {
    list(path, invocation);
  } else if (fs::exists(path, error)) {
    print(fs::path(path).filename().string() + "\n");
  } else {
    return Error{ErrorKind::kNotFound, "not_found",
                 fmt::format("{}: no such file or directory", asked), ""};
  }
  return 0;
}

Result<int> run_cat(const Invocation& invocation) {
  for (const std::string& asked : invocation.operands) {
    TRY_ASSIGN(const std::string path, below_userdir(asked));
    std::error_code error;
    std::ifstream file(path, std::ios::binary);
    if (!file || !fs::is_regular_file(path, error)) {
      return Error{ErrorKind::kNotFound, "not_found", fmt::format("{}: no such file", asked), ""};
    }
    std::array<char, 65536> chunk{};
    while (file.read(chunk.data(), chunk.size()) || file.gcount() > 0) {
      print(std::string(chunk.data(), static_cast<std::size_t>(file.gcount())));
    }
  }
  return 0;
}

CommandSpec spec_of(const std::string& name, const std::string& summary,
                    const std::string& operands, int least, int most) {
  CommandSpec spec;
  spec.name = "tcloud " + name;
  spec.summary = summary;
  spec.group = kFaceGroup;
  spec.operands = operands;
  spec.operands_min = least;
  spec.operands_max = most;
  spec.completes = "file";
  return spec;
}

}  // namespace

std::vector<Command> tcloud_file_commands() {
  CommandSpec upload =
      spec_of("upload", "Copy a file or directory into USERDIR", "SOURCE [TARGET]", 1, 2);
  upload.options = {{"cover", 'c', "", "replace the whole target"}};
  CommandSpec download = spec_of("download", "Copy out of USERDIR", "SOURCE [TARGET]", 1, 2);
  download.options = {{"recursive", 'r', "", "directories too"}};
  CommandSpec ls = spec_of("ls", "List files of USERDIR", "[PATH]", 0, 1);
  ls.options = {{"long", 'l', "", "with sizes"},
                {"recursive", 'r', "", "directories in directories too"},
                {"all", 'a', "", "hidden ones too"}};
  CommandSpec cat = spec_of("cat", "Print files of USERDIR", "FILE...", 1, -1);
  return {{upload, guarded_face("tcloud", run_upload)},
          {download, guarded_face("tcloud", run_download)},
          {ls, guarded_face("tcloud", run_ls)},
          {cat, guarded_face("tcloud", run_cat)}};
}

}  // namespace dove::cli
