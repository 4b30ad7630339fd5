#include "programs/backup/bucket_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/descriptor.h"
#include "wire/outside/bucket.h"
#include "wire/secret.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kPartBytes = 32 << 20;
constexpr std::size_t kListBytesMax = 4 << 20;
constexpr std::uint64_t kPartsMax = 1 << 20;
constexpr const char kWhole[] = "whole.json";

std::string part_of(const std::string& name, std::uint64_t part) {
  return part == 0 ? name : fmt::format("{}.part{:07}", name, part);
}

Error unreadable(const std::string& path) {
  return Error{ErrorKind::kInternal, "file_unreadable",
               fmt::format("{}: {}", path, std::strerror(errno)), path};
}

Error damaged(const BackupPlace& place, const std::string& name, const char* why) {
  return Error{ErrorKind::kCorrupt, "backup_damaged",
               fmt::format("{}: {}; take another backup", place.path(name), why), place.path(name)};
}

// The next bytes, fewer at the end.
Result<std::string> read_part(int fd, const std::string& path) {
  std::string bytes(kPartBytes, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

Result<json> upload_file(const std::string& path, const std::string& name, BackupPlace& to) {
  const files::Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat stat {};
  if (!file.is_open() || ::fstat(file.get(), &stat) != 0) return unreadable(path);
  json digests = json::array();
  for (;;) {
    TRY_ASSIGN(const std::string bytes, read_part(file.get(), path));
    if (bytes.empty() && !digests.empty()) break;
    TRY(to.put(part_of(name, digests.size()), bytes));
    digests.push_back(wire::sha256_hex(bytes));
    if (bytes.size() < kPartBytes) break;
  }
  return json{{"mode", stat.st_mode & 0777U}, {"sha256", std::move(digests)}};
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      return Error{errno == ENOSPC ? ErrorKind::kExhausted : ErrorKind::kInternal,
                   "file_unwritable", fmt::format("{}: {}", path, std::strerror(errno)), path};
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> download_file(BackupPlace& from, const std::string& name, const json& facts,
                           const std::string& path) {
  const bool is_known = facts.is_object() && facts.value("mode", json()).is_number_unsigned() &&
                        facts.value("sha256", json()).is_array() &&
                        facts["sha256"].size() <= kPartsMax;
  if (!is_known) return damaged(from, kWhole, "it is no list of files");
  const auto mode = static_cast<mode_t>(facts["mode"].get<unsigned>() & 0777U);
  const files::Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return unreadable(path);
  std::uint64_t part = 0;
  for (const json& digest : facts["sha256"]) {
    const std::string named = part_of(name, part++);
    TRY_ASSIGN(const std::optional<std::string> bytes, from.get(named, kPartBytes));
    if (!bytes) return damaged(from, named, "it is missing");
    if (digest != wire::sha256_hex(*bytes))
      return damaged(from, named, "it is not what was written");
    TRY(write_all(file.get(), *bytes, path));
  }
  if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0) return unreadable(path);
  return {};
}

}  // namespace

Result<bool> is_uploaded(BackupPlace& place) {
  TRY_ASSIGN(const std::optional<std::string> whole, place.get(kWhole, kListBytesMax));
  return whole.has_value();
}

Result<void> upload_backup(const std::string& from, BackupPlace& to) {
  TRY_ASSIGN(const bool exists, is_uploaded(to));
  if (exists) {
    return Error{ErrorKind::kConflict, "backup_exists",
                 to.path("") + ": there is a backup already; name another prefix", to.path("")};
  }
  json files = json::object();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), from);
    if (!wire::is_object_name(name)) {
      return Error{ErrorKind::kInvalid, "bad_name",
                   fmt::format("{}: a bucket takes names of letters, digits and -_. only; rename "
                               "the file in the data directory",
                               name),
                   name};
    }
    TRY_ASSIGN(files[name], upload_file(entry.path(), name, to));
  }
  return to.put(kWhole, json{{"format", 1}, {"files", std::move(files)}}.dump(2) + "\n");
}

Result<void> download_backup(BackupPlace& from, const std::string& to) {
  TRY_ASSIGN(const std::optional<std::string> text, from.get(kWhole, kListBytesMax));
  if (!text) {
    return Error{ErrorKind::kNotFound, "no_backup",
                 from.path(kWhole) + ": there is no such backup, or it was never finished",
                 from.path("")};
  }
  const json whole = json::parse(*text, nullptr, false);
  if (!whole.is_object() || !whole.value("files", json()).is_object()) {
    return damaged(from, kWhole, "it is no list of files");
  }
  for (const auto& [name, facts] : whole.at("files").items()) {
    if (!wire::is_object_name(name)) return damaged(from, kWhole, "it names a file that is none");
    const fs::path path = fs::path(to) / name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed) return unreadable(path.parent_path());
    TRY(download_file(from, name, facts, path));
  }
  return {};
}

}  // namespace dove::programs
