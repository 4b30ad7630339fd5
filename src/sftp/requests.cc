#include "sftp/requests.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sftp/attributes.h"

namespace dove::sftp {
namespace {

enum Type : std::uint8_t {
  kInit = 1,
  kVersion = 2,
  kOpen = 3,
  kClose = 4,
  kRead = 5,
  kWrite = 6,
  kLstat = 7,
  kFstat = 8,
  kSetstat = 9,
  kFsetstat = 10,
  kOpendir = 11,
  kReaddir = 12,
  kRemove = 13,
  kMkdir = 14,
  kRmdir = 15,
  kRealpath = 16,
  kStat = 17,
  kRename = 18,
  kReadlink = 19,
  kSymlink = 20,
  kStatus = 101,
  kHandle = 102,
  kData = 103,
  kName = 104,
  kAttributes = 105,
  kExtended = 200,
  kExtendedReply = 201,
};
enum Status : std::uint32_t {
  kOk = 0,
  kEnd = 1,
  kNoSuchFile = 2,
  kDenied = 3,
  kFailure = 4,
  kBadMessage = 5,
  kUnsupported = 8,
};
enum OpenFlag : std::uint32_t {
  kToRead = 1,
  kToWrite = 2,
  kToAppend = 4,
  kCreate = 8,
  kTruncate = 16,
  kExclusive = 32,
};

constexpr int kNamesAtOnce = 100;

constexpr std::array<std::pair<const char*, const char*>, 8> kExtensions{
    {{"posix-rename@openssh.com", "1"},
     {"statvfs@openssh.com", "2"},
     {"fstatvfs@openssh.com", "2"},
     {"hardlink@openssh.com", "1"},
     {"fsync@openssh.com", "1"},
     {"lsetstat@openssh.com", "1"},
     {"limits@openssh.com", "1"},
     {"expand-path@openssh.com", "1"}}};

Status status_of(int error) {
  if (error == 0) return kOk;
  if (error == ENOENT || error == ENOTDIR || error == EBADF || error == ELOOP) return kNoSuchFile;
  if (error == EPERM || error == EACCES || error == EFAULT || error == EROFS) return kDenied;
  if (error == ENAMETOOLONG || error == EINVAL) return kBadMessage;
  return kFailure;
}

int open_flags(std::uint32_t wanted) {
  int flags = O_CLOEXEC | O_NOCTTY;
  const bool reads = (wanted & kToRead) != 0;
  const bool writes = (wanted & (kToWrite | kToAppend)) != 0;
  flags |= reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY;
  if ((wanted & kToAppend) != 0) flags |= O_APPEND;
  if ((wanted & kCreate) != 0) flags |= O_CREAT;
  if ((wanted & kTruncate) != 0) flags |= O_TRUNC;
  if ((wanted & kExclusive) != 0) flags |= O_EXCL;
  return flags;
}

int errno_of(int done) { return done == 0 ? 0 : errno; }

// "" and errno. The last part need not be there: it may be about to be made.
std::string real_path(const std::string& path) {
  char whole[PATH_MAX];
  if (::realpath(path.c_str(), whole) != nullptr) return whole;
  if (errno != ENOENT) return "";
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
  if (last.empty() || last == "." || last == "..") return "";
  if (::realpath(folder.c_str(), whole) == nullptr) return "";
  const std::string begin(whole);
  return begin == "/" ? begin + last : begin + "/" + last;
}

// "~/data" is below the home directory that the task has.
std::string expanded(const std::string& path) {
  const char* home = std::getenv("HOME");
  const bool is_ours = path == "~" || path.rfind("~/", 0) == 0;
  return is_ours && home != nullptr ? home + path.substr(1) : path;
}

// As version 3 has it: what is there stays.
int rename_to_new(const char* from, const char* to) {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat facts {};
  if (::lstat(to, &facts) == 0) return EEXIST;
  return errno_of(::rename(from, to));
}

}  // namespace

bool Requests::answer(std::string_view packet, Writer& out) {
  out_ = &out;
  Reader in(packet);
  const std::uint8_t type = in.byte();
  const std::uint32_t id = in.number32();  // of kInit the version, which is ours then
  if (!in.is_good() || has_version_ == (type == kInit)) return false;
  if (type == kInit) {
    has_version_ = true;
    say_version();
    return true;
  }
  if (!answer_request(type, id, in)) say_status(id, kUnsupported, "not supported");
  return true;
}

bool Requests::answer_request(std::uint8_t type, std::uint32_t id, Reader& in) {
  if (of_handles(type, id, in) || of_paths(type, id, in)) return true;
  switch (type) {
    case kRename:
    case kSymlink:
      of_links(type, id, in);
      return true;
    case kExtended:
      extended(id, in);
      return true;
    default:
      return false;
  }
}

bool Requests::of_handles(std::uint8_t type, std::uint32_t id, Reader& in) {
  switch (type) {
    case kOpen:
      open(id, in);
      return true;
    case kClose:
      say_done(id, handles_.close(in.text()));
      return true;
    case kRead:
      read(id, in);
      return true;
    case kWrite:
      write(id, in);
      return true;
    case kFstat: {
      struct stat facts {};
      const Handle* handle = handles_.find(in.text());
      say_attributes(id, handle == nullptr ? EBADF : errno_of(::fstat(handle->fd, &facts)), facts);
      return true;
    }
    case kFsetstat: {
      const Handle* handle = handles_.find(in.text());
      const Attributes wanted = Attributes::read(in);
      say_done(id, !in.is_good() ? EINVAL : handle == nullptr ? EBADF : wanted.set(handle->fd));
      return true;
    }
    case kOpendir:
      open_directory(id, in);
      return true;
    case kReaddir:
      read_directory(id, in);
      return true;
    default:
      return false;
  }
}

bool Requests::of_paths(std::uint8_t type, std::uint32_t id, Reader& in) {
  static constexpr std::array kOfPaths = {kLstat, kStat,  kSetstat,  kRemove,
                                          kMkdir, kRmdir, kRealpath, kReadlink};
  if (std::find(kOfPaths.begin(), kOfPaths.end(), type) == kOfPaths.end()) return false;
  const std::string path = in.path();
  Attributes wanted;
  if (type == kSetstat || type == kMkdir) wanted = Attributes::read(in);
  if (!in.is_good()) {
    say_done(id, EINVAL);
    return true;
  }
  struct stat facts {};
  if (type == kLstat || type == kStat) {
    const int done = type == kLstat ? ::lstat(path.c_str(), &facts) : ::stat(path.c_str(), &facts);
    say_attributes(id, errno_of(done), facts);
  } else if (type == kSetstat) {
    say_done(id, wanted.set(path.c_str(), true));
  } else if (type == kRemove) {
    say_done(id, errno_of(::unlink(path.c_str())));
  } else if (type == kMkdir) {
    const mode_t mode = (wanted.flags & Attributes::kMode) != 0 ? wanted.mode & 07777 : 0777;
    say_done(id, errno_of(::mkdir(path.c_str(), mode)));
  } else if (type == kRmdir) {
    say_done(id, errno_of(::rmdir(path.c_str())));
  } else if (type == kRealpath) {
    const std::string real = real_path(path);
    real.empty() ? say_done(id, errno) : say_name(id, real);
  } else {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    size < 0 ? say_done(id, errno) : say_name(id, {target, static_cast<std::size_t>(size)});
  }
  return true;
}

// OpenSSH's order, which is not the draft's: what is pointed at comes first.
void Requests::of_links(std::uint8_t type, std::uint32_t id, Reader& in) {
  const std::string from = in.path();
  const std::string to = in.path();
  if (!in.is_good()) return say_done(id, EINVAL);
  say_done(id, type == kRename ? rename_to_new(from.c_str(), to.c_str())
                               : errno_of(::symlink(from.c_str(), to.c_str())));
}

void Requests::extended(std::uint32_t id, Reader& in) {
  const std::string_view name = in.text();
  if (name == "limits@openssh.com") return say_limits(id);
  if (name == "fsync@openssh.com" || name == "fstatvfs@openssh.com") {
    const Handle* handle = handles_.find(in.text());
    if (handle == nullptr) return say_done(id, EBADF);
    if (name == "fsync@openssh.com") return say_done(id, errno_of(::fsync(handle->fd)));
    return say_file_system(id, handle->fd, nullptr);
  }
  const std::string path = in.path();
  if (!in.is_good()) return say_done(id, EINVAL);
  if (name == "statvfs@openssh.com") return say_file_system(id, -1, path.c_str());
  if (name == "expand-path@openssh.com") {
    const std::string real = real_path(expanded(path));
    return real.empty() ? say_done(id, errno) : say_name(id, real);
  }
  if (name == "lsetstat@openssh.com") {
    const Attributes wanted = Attributes::read(in);
    return say_done(id, in.is_good() ? wanted.set(path.c_str(), false) : EINVAL);
  }
  const bool is_rename = name == "posix-rename@openssh.com";
  if (!is_rename && name != "hardlink@openssh.com") {
    return say_status(id, kUnsupported, "not supported");
  }
  const std::string to = in.path();
  if (!in.is_good()) return say_done(id, EINVAL);
  say_done(id, errno_of(is_rename ? ::rename(path.c_str(), to.c_str())
                                  : ::link(path.c_str(), to.c_str())));
}

void Requests::say_version() {
  out_->begin(kVersion);
  out_->number32(3);
  for (const auto& [name, version] : kExtensions) {
    out_->text(name);
    out_->text(version);
  }
  out_->end();
}

void Requests::open(std::uint32_t id, Reader& in) {
  const std::string path = in.path();
  const std::uint32_t wanted = in.number32();
  const Attributes attributes = Attributes::read(in);
  if (!in.is_good()) return say_done(id, EINVAL);
  if (handles_.is_full()) return say_done(id, EMFILE);
  const bool has_mode = (attributes.flags & Attributes::kMode) != 0;
  const int fd =
      ::open(path.c_str(), open_flags(wanted), has_mode ? attributes.mode & 07777 : 0666);
  if (fd < 0) return say_done(id, errno);
  say_handle(id, {fd, nullptr, (wanted & kToAppend) != 0});
}

void Requests::read(std::uint32_t id, Reader& in) {
  const Handle* handle = handles_.find(in.text());
  const std::uint64_t offset = in.number64();
  const std::size_t wanted = std::min<std::size_t>(in.number32(), kDataBytesMax);
  if (!in.is_good()) return say_done(id, EINVAL);
  if (handle == nullptr || handle->directory != nullptr) return say_done(id, EBADF);
  out_->begin(kData);
  out_->number32(id);
  char* const room = out_->room(wanted);
  const ssize_t count = ::pread(handle->fd, room, wanted, static_cast<off_t>(offset));
  const int error = errno;
  if (count > 0) {
    out_->cut_text(static_cast<std::size_t>(count));
    return out_->end();
  }
  out_->drop();
  if (count < 0) return say_done(id, error);
  say_status(id, kEnd, "end of file");
}

void Requests::write(std::uint32_t id, Reader& in) {
  const Handle* handle = handles_.find(in.text());
  std::uint64_t offset = in.number64();
  std::string_view data = in.text();
  if (!in.is_good()) return say_done(id, EINVAL);
  if (handle == nullptr || handle->directory != nullptr) return say_done(id, EBADF);
  while (!data.empty()) {
    const ssize_t count = handle->appends ? ::write(handle->fd, data.data(), data.size())
                                          : ::pwrite(handle->fd, data.data(), data.size(),
                                                     static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return say_done(id, count < 0 ? errno : EIO);
    data.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  say_done(id, 0);
}

void Requests::open_directory(std::uint32_t id, Reader& in) {
  const std::string path = in.path();
  if (!in.is_good()) return say_done(id, EINVAL);
  if (handles_.is_full()) return say_done(id, EMFILE);
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return say_done(id, errno);
  say_handle(id, {::dirfd(directory), directory, false});
}

void Requests::read_directory(std::uint32_t id, Reader& in) {
  const Handle* handle = handles_.find(in.text());
  if (handle == nullptr || handle->directory == nullptr) return say_done(id, EBADF);
  Writer names;
  int count = 0;
  while (count < kNamesAtOnce) {
    errno = 0;
    const dirent* entry = ::readdir(handle->directory);
    if (entry == nullptr) break;
    struct stat facts {};
    if (::fstatat(handle->fd, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    names.text(entry->d_name);
    names.text(long_name(entry->d_name, facts));
    write_attributes(names, facts);
    ++count;
  }
  if (count == 0) return errno != 0 ? say_done(id, errno) : say_status(id, kEnd, "no more names");
  out_->begin(kName);
  out_->number32(id);
  out_->number32(static_cast<std::uint64_t>(count));
  out_->bytes().append(names.bytes());
  out_->end();
}

void Requests::say_status(std::uint32_t id, std::uint32_t status, std::string_view message) {
  out_->begin(kStatus);
  out_->number32(id);
  out_->number32(status);
  out_->text(message);
  out_->text("");
  out_->end();
}

void Requests::say_done(std::uint32_t id, int error) {
  say_status(id, status_of(error), error == 0 ? "" : std::strerror(error));
}

void Requests::say_handle(std::uint32_t id, const Handle& handle) {
  out_->begin(kHandle);
  out_->number32(id);
  out_->text(handles_.add(handle));
  out_->end();
}

void Requests::say_name(std::uint32_t id, std::string_view name) {
  out_->begin(kName);
  out_->number32(id);
  out_->number32(1);
  out_->text(name);
  out_->text(name);
  out_->number32(0);
  out_->end();
}

void Requests::say_attributes(std::uint32_t id, int done, const struct stat& facts) {
  if (done != 0) return say_done(id, done);
  out_->begin(kAttributes);
  out_->number32(id);
  write_attributes(*out_, facts);
  out_->end();
}

void Requests::say_limits(std::uint32_t id) {
  out_->begin(kExtendedReply);
  out_->number32(id);
  for (const std::uint64_t limit :
       {kPacketBytesMax, kDataBytesMax, kDataBytesMax, Handles::kMost}) {
    out_->number64(limit);
  }
  out_->end();
}

void Requests::say_file_system(std::uint32_t id, int fd, const char* path) {
  struct statvfs facts {};
  const int done = path != nullptr ? ::statvfs(path, &facts) : ::fstatvfs(fd, &facts);
  if (done != 0) return say_done(id, errno);
  out_->begin(kExtendedReply);
  out_->number32(id);
  for (const std::uint64_t value :
       {std::uint64_t{facts.f_bsize}, std::uint64_t{facts.f_frsize}, std::uint64_t{facts.f_blocks},
        std::uint64_t{facts.f_bfree}, std::uint64_t{facts.f_bavail}, std::uint64_t{facts.f_files},
        std::uint64_t{facts.f_ffree}, std::uint64_t{facts.f_favail}, std::uint64_t{facts.f_fsid},
        std::uint64_t{facts.f_flag & 3}, std::uint64_t{facts.f_namemax}}) {
    out_->number64(value);
  }
  out_->end();
}

}  // namespace dove::sftp
