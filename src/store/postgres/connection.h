// Connection, Params and Rows: libpq with owners, deadlines and Results. Internal to
// store/postgres.
//
// A Connection belongs to one thread at a time. Every wait has a deadline; a connection whose
// deadline has passed, or that was closed, is over: ask is_over(). Errors say what the log needs to
// know: kExhausted `disk_full`, kUnavailable `store_unreachable`, kDenied, kConflict by the codes
// of schema.h, kCorrupt. A URL or a password is in none of them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct pg_conn;
struct pg_result;

namespace dove::store {

// Parameters in order, binary. Text and bytes are not copied and must live until they were sent.
class Params {
 public:
  Params& add(std::int64_t value);
  Params& add(std::uint64_t value) { return add(static_cast<std::int64_t>(value)); }
  Params& add(const std::optional<std::uint64_t>& value);
  Params& text(std::string_view value);
  Params& bytes(std::string_view value);

 private:
  friend class Connection;
  static constexpr std::size_t kMax = 12;
  void put(unsigned type, const char* value, std::size_t size);

  std::size_t count_ = 0;
  std::array<unsigned, kMax> types_{};
  std::array<const char*, kMax> values_{};
  std::array<int, kMax> sizes_{};
  std::array<std::array<char, 8>, kMax> numbers_{};
};

class Rows {
 public:
  int size() const;
  // 0 where it is null. REQUIRES: the column is a whole number or a boolean.
  std::int64_t integer(int row, int column) const;
  std::uint64_t unsigned_integer(int row, int column) const {
    return static_cast<std::uint64_t>(integer(row, column));
  }
  bool is_null(int row, int column) const;
  std::string_view bytes(int row, int column) const;

 private:
  friend class Connection;
  struct Clearer {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clearer> result_;
};

struct ConnectionOptions {
  std::string url;                // postgres://HOST,HOST/DATABASE, or libpq's key=value text
  std::string name;               // as the database shows it
  std::chrono::seconds patience;  // of one statement
};

// How what goes to the server is kept from others.
struct LineSafety {
  std::string encryption = {};        // "TLSv1.3", "GSSAPI"; "": none
  std::string address = {};           // the server's; "": it is on this machine
  bool is_verified = false;           // the server, and that it has the name that was asked for
  std::string authorities_file = {};  // that verify its certificate; "": not in the URL

  bool is_open() const { return encryption.empty() && !address.empty(); }
};

// The code of the error (kUnavailable) where another session holds a row for too long.
constexpr char kRowHeld[] = "store_row_held";

class Connection {
 public:
  // Only to a server that takes writes. Blocks for two seconds a host at most, but for the names of
  // hosts, which the system looks up.
  static Result<Connection> open(const ConnectionOptions& options);

  Result<Rows> run(const char* sql, const Params& params = {});
  // Several statements without parameters or rows.
  Result<void> execute(const char* sql);
  Result<void> prepare(const char* name, const char* sql);

  // Sends prepared statements without waiting; what they give is dropped. finish() waits for all:
  // the first error, after which the rest was not run.
  Result<void> begin_pipeline();
  Result<void> send(const char* prepared, const Params& params = {});
  Result<void> finish_pipeline();

  // The text of a warning that came since this was asked before; none: "".
  std::string take_warning();
  // True when somebody notified; false when the time is over. `wakes`: readable when to return
  // early, too; -1: none.
  Result<bool> wait_notified(std::chrono::milliseconds at_most, int wakes);

  // How long an answer is waited for from now on, whatever the server's own time-out is.
  void be_patient(std::chrono::seconds patience) { patience_ = patience; }
  bool is_over() const;
  // The same, and whether the server has ended it since, as far as that is known here. REQUIRES: no
  // answer is awaited.
  bool has_ended();
  LineSafety safety() const;

 private:
  struct Closer {
    void operator()(pg_conn* connection) const;
  };
  using Instant = std::chrono::steady_clock::time_point;
  Connection() = default;
  Result<void> configure();
  Instant deadline() const;
  // Sends what waits, reads until an answer is there.
  Result<void> await_answer(Instant until);
  Result<Rows> answer();
  Result<bool> wait(short events, Instant until, int wakes);
  Error over(std::string_view why);
  Error failure(const pg_result* result) const;

  std::unique_ptr<pg_conn, Closer> connection_;
  std::unique_ptr<std::string> warning_;  // the notice receiver writes there
  std::chrono::seconds patience_{0};
  bool is_over_ = true;
};

// A transaction that is rolled back unless committed.
class PgTransaction {
 public:
  // `how`: "BEGIN ...".
  static Result<PgTransaction> begin(Connection& connection, const char* how);
  PgTransaction(PgTransaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)) {}
  PgTransaction& operator=(PgTransaction&&) = delete;
  ~PgTransaction();
  // `commit_unknown` when the answer did not come, or came with a warning: then it may be durable,
  // or may not.
  Result<void> commit();

 private:
  explicit PgTransaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

// Neither written nor not written.
Error commit_unknown(std::string_view why);

}  // namespace dove::store
