// What tests of the SQLite store begin with: a directory of their own, and a hand that changes it.
//
// Include only from *_test.cc files.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>

#include "store/log_store_conformance.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::store {

namespace fs = std::filesystem;

// A directory of its own, removed at the end.
class Directory {
 public:
  Directory() {
    std::string pattern = (fs::temp_directory_path() / "dove-store-XXXXXX").string();
    path_ = std::string(::mkdtemp(pattern.data())) + "/data";
  }
  ~Directory() { fs::remove_all(fs::path(path_).parent_path()); }
  const std::string& path() const { return path_; }
  std::string file() const { return path_ + "/log.sqlite"; }

 private:
  std::string path_;
};

inline std::unique_ptr<SqliteStore> open(const std::string& path,
                                         const SqliteOptions& options = {}) {
  auto store = SqliteStore::open(path, OpenMode::kWrite, options);
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? std::move(store).value() : nullptr;
}

inline void append(SqliteStore& store, Epoch epoch, int events, int decisions) {
  auto done =
      store.append(epoch, store.head().seq, batch_after(store.head(), epoch, events, decisions));
  ASSERT_TRUE(done.ok()) << done.error().message;
}

// Changes the file as somebody with the sqlite3 command would.
inline void tamper(const std::string& file, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

}  // namespace dove::store
