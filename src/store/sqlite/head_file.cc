#include "store/sqlite/head_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/digest.h"

namespace dove::store {
namespace {

constexpr std::size_t kBytes = 64;

std::uint64_t digest_of(std::uint64_t seq) {
  Digest digest;
  digest.add(std::string_view("dovetail head"));
  digest.add(seq);
  return digest.value();
}

// One line of always the same length, so that overwriting it leaves nothing of a former one.
std::string line_of(std::uint64_t seq) {
  return fmt::format("{:<63}\n", fmt::format("record {} {:016x}", seq, digest_of(seq)));
}

// None when there is none, or it was torn.
std::optional<std::uint64_t> read_line(int descriptor) {
  char text[kBytes] = {};
  if (::pread(descriptor, text, kBytes, 0) != static_cast<ssize_t>(kBytes)) return std::nullopt;
  constexpr std::string_view kBegin = "record ";
  const std::string_view line(text, kBytes);
  if (!line.starts_with(kBegin)) return std::nullopt;
  std::uint64_t seq = 0;
  const auto read = std::from_chars(text + kBegin.size(), text + kBytes, seq);
  if (read.ec != std::errc() || line != line_of(seq)) return std::nullopt;
  return seq;
}

Error behind(const std::string& directory, std::uint64_t stored, std::uint64_t seen) {
  return Error{
      ErrorKind::kCorrupt, "log_behind",
      fmt::format("{0}/log.sqlite ends at record {1}, but {0}/head says that record {2} was "
                  "written: the file was copied or put back without its log.sqlite-wal, or is an "
                  "older one. Put back both files of the same moment; to go on with what there is, "
                  "which loses what came after, say `dove restore --in-place --data {0}` "
                  "(docs/operate/recovery.md)",
                  directory, stored, seen),
      directory};
}

Error wal_missing(const std::string& directory) {
  return Error{
      ErrorKind::kCorrupt, "wal_missing",
      fmt::format("{0}/log.sqlite was copied from a server that ran, without its log.sqlite-wal "
                  "and head, and lacks what they hold: copy the whole directory of a stopped "
                  "server, or for a new cluster give an empty one with --data "
                  "(docs/operate/recovery.md)",
                  directory),
      directory};
}

}  // namespace

HeadFile::HeadFile(HeadFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

HeadFile& HeadFile::operator=(HeadFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

HeadFile::~HeadFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<HeadFile> HeadFile::open(const std::string& directory, Seq stored, bool must_be_there) {
  const std::string path = directory + "/head";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto seen = descriptor < 0 ? std::nullopt : read_line(descriptor);
  HeadFile file(descriptor);
  if (seen.has_value() && *seen > stored.value) return behind(directory, stored.value, *seen);
  if (!seen.has_value() && must_be_there) return wal_missing(directory);
  if (descriptor < 0) {
    file.descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }
  if (file.descriptor_ < 0) {
    const int reason = errno;
    return Error{reason == ENOSPC || reason == EDQUOT ? ErrorKind::kExhausted : ErrorKind::kDenied,
                 reason == ENOSPC || reason == EDQUOT ? "disk_full" : "data_not_accessible",
                 fmt::format("cannot open {}: {}; the server needs to write to its data directory",
                             path, std::strerror(reason)),
                 path};
  }
  file.keep(stored);
  return file;
}

void HeadFile::keep(Seq head) {
  const std::string line = line_of(head.value);
  (void)!::pwrite(descriptor_, line.data(), line.size(), 0);
}

}  // namespace dove::store
