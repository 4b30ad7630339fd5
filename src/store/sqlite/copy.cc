#include "store/sqlite/copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::store {
namespace {

constexpr const char kFile[] = "/log.sqlite";

Error cannot_write(const std::string& path) {
  return Error{errno == ENOSPC ? ErrorKind::kExhausted : ErrorKind::kInternal,
               errno == ENOSPC ? "disk_full" : "file_unwritable",
               fmt::format("cannot write {}: {}", path, std::strerror(errno)), path};
}

}  // namespace

Result<void> make_log_file(const std::string& path) {
  const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0) return cannot_write(path);
  ::close(made);
  return {};
}

Result<void> sync_log_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  if (!synced) return cannot_write(path);
  ::close(file);
  return {};
}

Result<void> copy_log(const std::string& from, const std::string& to) {
  // Says in words what is wrong with a directory that has no log, or one of a newer program.
  TRY_ASSIGN(const auto checked, SqliteStore::open(from, OpenMode::kReadOnly));
  const std::string path = to + kFile;
  TRY(make_log_file(path));
  TRY_ASSIGN(const Database source, Database::open(from + kFile, Database::Mode::kRead));
  TRY(source.copy_to(path));
  {
    TRY_ASSIGN(Database copy, Database::open(path, Database::Mode::kWrite));
    TRY(copy.execute("PRAGMA journal_mode = DELETE"));  // one file, which may be read alone
    TRY(copy.execute("UPDATE meta SET value = 0 WHERE key = 'in_use'"));
  }
  return sync_log_file(path);
}

}  // namespace dove::store
