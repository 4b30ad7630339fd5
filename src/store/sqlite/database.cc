#include "store/sqlite/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>

namespace dove::store {
namespace {

bool out_of_space(int code, int system_error) {
  if ((code & 0xFF) == SQLITE_FULL) return true;
  return (code & 0xFF) == SQLITE_IOERR &&
         (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG);
}

Error database_error(sqlite3* database, const char* doing) {
  const int last_system_error = errno;
  const int code = sqlite3_extended_errcode(database);
  const bool asked_system = (code & 0xFF) == SQLITE_IOERR || (code & 0xFF) == SQLITE_CANTOPEN;
  // SQLite does not keep the number of every failed write; nothing has called the system since.
  const int kept = sqlite3_system_errno(database);
  const int system_error = !asked_system ? 0 : kept != 0 ? kept : last_system_error;
  const char* name = sqlite3_db_filename(database, "main");
  const std::string file = name != nullptr ? name : "";
  std::string what = sqlite3_errmsg(database);
  if (system_error != 0) what += fmt::format(" ({})", std::strerror(system_error));
  const auto error = [&](ErrorKind kind, const char* id, const char* remedy) {
    return Error{kind, id, fmt::format("{} {}: {}; {}", doing, file, what, remedy), file};
  };
  if (out_of_space(code, system_error)) {
    return error(ErrorKind::kExhausted, "disk_full",
                 "nothing was written: free space on this file system or raise its limit");
  }
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error(ErrorKind::kCorrupt, "data_damaged",
                   "restore the data directory from a backup, see docs/operate/recovery.md");
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return error(ErrorKind::kDenied, "data_not_accessible",
                   "check that the file and its directory exist and belong to this user");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(ErrorKind::kConflict, "data_in_use",
                   "another program holds the file: end it and try again");
    default:
      return error(ErrorKind::kInternal, "store_failed",
                   "check the disk and the system's log, then start again");
  }
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
}

void Statement::bind(int index, const std::optional<std::uint64_t>& value) {
  if (value) {
    bind(index, *value);
  } else {
    sqlite3_bind_null(statement_.get(), index);
  }
}

void Statement::bind_text(int index, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

void Statement::bind_blob(int index, std::string_view value) {
  sqlite3_bind_blob64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC);
}

Result<bool> Statement::step() {
  errno = 0;  // an error's number is that of this call (database_error)
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const Error error = database_error(sqlite3_db_handle(statement_.get()), "cannot use");
  sqlite3_reset(statement_.get());
  return error;
}

Result<void> Statement::run() {
  for (;;) {
    TRY_ASSIGN(const bool row, step());
    if (!row) break;
  }
  reset();
  return {};
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

void Database::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const std::string& path, Mode mode) {
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (mode == Mode::kWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  sqlite3* raw = nullptr;
  errno = 0;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database opened;
  opened.database_.reset(raw);
  if (raw == nullptr) {
    return Error{ErrorKind::kInternal, "store_failed", "no memory to open " + path, path};
  }
  if (code != SQLITE_OK) {
    Error error = database_error(raw, "cannot open");
    error.field = path;
    return error;
  }
  sqlite3_busy_timeout(raw, 5000);
  return opened;
}

Result<void> Database::copy_to(const std::string& path) const {
  TRY_ASSIGN(const Database copy, open(path, Mode::kWrite));
  sqlite3_backup* backup =
      sqlite3_backup_init(copy.database_.get(), "main", database_.get(), "main");
  if (backup == nullptr) return database_error(copy.database_.get(), "cannot write");
  const int code = sqlite3_backup_step(backup, -1);  // at once: in steps, a writer starts it over
  if (sqlite3_backup_finish(backup) == SQLITE_OK && code == SQLITE_DONE) return {};
  return database_error(copy.database_.get(), "cannot write");
}

Result<void> Database::execute(const char* sql) {
  errno = 0;
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return database_error(database_.get(), "cannot use");
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  errno = 0;
  const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  Statement statement;
  statement.statement_.reset(raw);
  if (code != SQLITE_OK) return database_error(database_.get(), "cannot use");
  return statement;
}

Result<std::optional<std::int64_t>> Database::number(std::string_view sql) {
  TRY_ASSIGN(Statement statement, prepare(sql));
  TRY_ASSIGN(const bool row, statement.step());
  if (!row || statement.is_null(0)) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(statement.integer(0));
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

Result<Transaction> Transaction::begin(Database& database, Kind kind) {
  TRY(database.execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // A failed write may have rolled back by itself already.
  if (database_ != nullptr && database_->in_transaction()) (void)database_->execute("ROLLBACK");
}

Result<void> Transaction::commit() {
  TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace dove::store
