#include "slurm/gate/gate_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace dove::slurm {
namespace {

constexpr std::string_view kHold = "hold.";
constexpr std::string_view kRelease = "release.";
constexpr int kFilesMax = 1'000'000;

Error unfit(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kInvalid, "gate_folder",
               fmt::format("--gate {}: {}; make it with `install -d -m 700 -o SLURM_USER {}`, the "
                           "folder that job_submit.lua names",
                           path, why, path),
               "--gate"};
}

std::optional<std::int64_t> number_after(std::string_view name, std::string_view begin) {
  if (!name.starts_with(begin)) return std::nullopt;
  name.remove_prefix(begin.size());
  std::int64_t id = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), id);
  if (end.ec != std::errc() || end.ptr != name.data() + name.size() || id <= 0) return std::nullopt;
  return id;
}

}  // namespace

GateFolder::GateFolder(files::Descriptor folder, files::Descriptor watch)
    : folder_(std::move(folder)), watch_(std::move(watch)) {}

Result<GateFolder> GateFolder::open(const std::string& path,
                                    const std::function<Result<uid_t>()>& slurm_user) {
  files::Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat seen = {};
  if (!folder.is_open() || ::fstat(folder.get(), &seen) != 0) {
    return unfit(path, std::strerror(errno));
  }
  if ((seen.st_mode & (S_IWGRP | S_IWOTH)) != 0) return unfit(path, "others may write in it");
  if (seen.st_uid != 0 && seen.st_uid != ::geteuid()) {
    TRY_ASSIGN(const uid_t owner, slurm_user());
    if (seen.st_uid != owner) return unfit(path, "it is neither root's nor SlurmUser's");
  }
  // Words that have been heard are taken away.
  if (::faccessat(folder.get(), ".", W_OK, AT_EACCESS) != 0) {
    return unfit(path, fmt::format("the adapter cannot write in it ({})", std::strerror(errno)));
  }
  files::Descriptor watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const std::string same = fmt::format("/proc/self/fd/{}", folder.get());
  if (!watch.is_open() ||
      ::inotify_add_watch(watch.get(), same.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    return unfit(path, fmt::format("it cannot be watched: {}", std::strerror(errno)));
  }
  return GateFolder(std::move(folder), std::move(watch));
}

bool GateFolder::was_poked() {
  bool any = false;
  std::array<char, 16 << 10> buffer;
  while (::read(watch_.get(), buffer.data(), buffer.size()) > 0) any = true;
  return any;
}

std::map<std::int64_t, bool> GateFolder::holds() const {
  std::map<std::int64_t, bool> holds;
  const int again = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = again < 0 ? nullptr : ::fdopendir(again);
  if (list == nullptr) {
    if (again >= 0) ::close(again);
    return holds;
  }
  int files = 0;
  while (const dirent* entry = ::readdir(list)) {
    if (++files > kFilesMax) break;
    if (const auto held = number_after(entry->d_name, kHold)) holds.emplace(*held, true);
    // Lua writes it after it has taken the other away.
    if (const auto let_go = number_after(entry->d_name, kRelease)) holds[*let_go] = false;
  }
  ::closedir(list);
  return holds;
}

void GateFolder::forget(std::int64_t job, bool held) const {
  const std::string name = fmt::format("{}{}", held ? kHold : kRelease, job);
  ::unlinkat(folder_.get(), name.c_str(), 0);
}

}  // namespace dove::slurm
