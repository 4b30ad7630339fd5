// Database and Statement: the C API of SQLite with owners and Results. Internal to store/sqlite.
//
// A Database and its Statements belong to one thread at a time. Errors are told apart as the log
// needs it: a full disk is kExhausted, damage kCorrupt, no permission kDenied; all name the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dove::store {

// A prepared statement. Its Database must outlive it.
class Statement {
 public:
  // Values are bound by position from 1; text and blobs are not copied and must live until the
  // statement was run.
  void bind(int index, std::int64_t value);
  void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, const std::optional<std::uint64_t>& value);
  void bind_text(int index, std::string_view value);
  void bind_blob(int index, std::string_view value);

  // True when there is a row.
  Result<bool> step();
  // Steps to the end and makes it ready for the next use.
  Result<void> run();
  void reset();

  std::int64_t integer(int column) const;
  std::uint64_t unsigned_integer(int column) const {
    return static_cast<std::uint64_t>(integer(column));
  }
  bool is_null(int column) const;
  // Valid until the next step or reset.
  std::string_view bytes(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

class Database {
 public:
  enum class Mode { kWrite, kRead };
  // `kRead` neither creates nor changes anything. REQUIRES (kWrite): the file exists.
  static Result<Database> open(const std::string& path, Mode mode);

  Result<void> execute(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  // The first column of the first row; none without a row.
  Result<std::optional<std::int64_t>> number(std::string_view sql);
  bool in_transaction() const;
  // All of it as of one instant, while others write. REQUIRES: the file at `path` exists.
  Result<void> copy_to(const std::string& path) const;

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Closer> database_;
};

// A transaction that is rolled back unless committed.
class Transaction {
 public:
  enum class Kind { kWrite, kRead };
  static Result<Transaction> begin(Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace dove::store
