#include "store/postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "store/postgres/schema.h"

namespace dove::store {
namespace {

constexpr unsigned kInt8 = 20;
constexpr unsigned kText = 25;
constexpr unsigned kBytes = 17;
constexpr std::chrono::seconds kAnswerMargin{2};  // the server's own time-out comes first

std::string one_line(const char* text) {
  std::string line = text == nullptr ? "" : text;
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return line;
}

// A commit that stopped waiting for its standby, or another that was not as it should be.
void keep_warning(void* kept, const PGresult* notice) {
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == nullptr || std::strcmp(severity, "WARNING") != 0) return;
  *static_cast<std::string*>(kept) = one_line(PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY));
}

bool is_good(ExecStatusType status) {
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

bool is_class(std::string_view state, std::string_view begin) { return state.starts_with(begin); }

Error unreachable(std::string_view why) {
  return {ErrorKind::kUnavailable, "store_unreachable", fmt::format("PostgreSQL: {}", why), ""};
}

}  // namespace

Error commit_unknown(std::string_view why) {
  return {ErrorKind::kUnavailable, "commit_unknown",
          fmt::format("whether this was written is not known ({}); try again with the same "
                      "Idempotency-Key",
                      why),
          ""};
}

// -- Params and Rows -----------------------------------------------------------------------------

void Params::put(unsigned type, const char* value, std::size_t size) {
  CHECK(count_ < kMax, "a statement has a dozen parameters at most");
  types_[count_] = type;
  values_[count_] = value;
  sizes_[count_] = static_cast<int>(size);
  ++count_;
}

Params& Params::add(std::int64_t value) {
  auto& out = numbers_[count_ % kMax];
  const auto bits = static_cast<std::uint64_t>(value);
  for (int byte = 0; byte < 8; ++byte) {
    out[static_cast<std::size_t>(byte)] = static_cast<char>(bits >> (56 - 8 * byte));
  }
  put(kInt8, nullptr, 8);  // its place is known when it is sent: Params may be moved
  return *this;
}

Params& Params::add(const std::optional<std::uint64_t>& value) {
  if (value.has_value()) return add(*value);
  put(kInt8, nullptr, 0);
  return *this;
}

Params& Params::text(std::string_view value) {
  put(kText, value.data() == nullptr ? "" : value.data(), value.size());
  return *this;
}

Params& Params::bytes(std::string_view value) {
  put(kBytes, value.data() == nullptr ? "" : value.data(), value.size());
  return *this;
}

void Rows::Clearer::operator()(pg_result* result) const { PQclear(result); }

int Rows::size() const { return PQntuples(result_.get()); }

bool Rows::is_null(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view Rows::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::integer(int row, int column) const {
  const std::string_view in = bytes(row, column);
  if (in.empty()) return 0;
  CHECK(in.size() <= 8, "the column is a whole number");
  const bool is_negative = in.size() > 1 && (static_cast<unsigned char>(in[0]) & 0x80) != 0;
  std::uint64_t bits = is_negative ? ~std::uint64_t{0} : 0;
  for (const char byte : in) bits = bits << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(bits);
}

// -- Connection ----------------------------------------------------------------------------------

void Connection::Closer::operator()(pg_conn* connection) const { PQfinish(connection); }

Result<Connection> Connection::open(const ConnectionOptions& options) {
  // What the URL says comes later, and counts, except for the last.
  const char* keys[] = {"connect_timeout",  "keepalives_idle",      "keepalives_interval",
                        "keepalives_count", "tcp_user_timeout",     "dbname",
                        "application_name", "target_session_attrs", nullptr};
  const char* values[] = {
      "2",          "5",    "2", "3", "10000", options.url.c_str(), options.name.c_str(),
      "read-write", nullptr};
  Connection made;
  made.patience_ = options.patience;
  made.connection_.reset(PQconnectdbParams(keys, values, /*expand_dbname=*/1));
  if (made.connection_ == nullptr) return unreachable("no memory for a connection");
  PGconn* connection = made.connection_.get();
  if (PQstatus(connection) != CONNECTION_OK) {
    const bool wants_password = PQconnectionNeedsPassword(connection) != 0;
    if (!wants_password) return unreachable(one_line(PQerrorMessage(connection)));
    return Error{ErrorKind::kDenied, "store_denied",
                 "PostgreSQL wants a password: name a file of passwords in PGPASSFILE (0600)", ""};
  }
  made.is_over_ = false;
  made.warning_ = std::make_unique<std::string>();
  PQsetNoticeReceiver(connection, keep_warning, made.warning_.get());
  if (PQsetnonblocking(connection, 1) != 0) return unreachable("its socket cannot be set up");
  TRY(made.configure());
  return made;
}

Result<void> Connection::configure() {
  const auto patience_ms = std::chrono::milliseconds(patience_).count();
  TRY(execute(fmt::format("SET search_path = dove; SET statement_timeout = {0};"
                          "SET lock_timeout = {0};"
                          "SET idle_in_transaction_session_timeout = {0};"
                          "SET client_min_messages = warning",
                          patience_ms)
                  .c_str()));
  // What was acknowledged is durable, whatever the database does for others.
  TRY(
      run("SELECT set_config('synchronous_commit', 'on', false) WHERE "
          "current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')"));
  return {};
}

bool Connection::is_over() const { return is_over_; }

bool Connection::has_ended() {
  if (is_over_) return true;
  pollfd socket{PQsocket(connection_.get()), POLLRDHUP, 0};
  is_over_ = ::poll(&socket, 1, 0) != 0;
  return is_over_;
}

LineSafety Connection::safety() const {
  PGconn* connection = connection_.get();
  LineSafety made;
  const std::string_view host = PQhost(connection);
  const std::string_view address = PQhostaddr(connection);
  const bool is_here = host.starts_with('/') || host.starts_with('@') ||
                       address.starts_with("127.") || address == "::1";
  if (!is_here) made.address = address;
  if (PQgssEncInUse(connection) != 0) {
    made.encryption = "GSSAPI";
    made.is_verified = true;  // Kerberos authenticates the server, too
    return made;
  }
  if (PQsslInUse(connection) == 0) return made;
  made.encryption = PQsslAttribute(connection, "protocol");
  PQconninfoOption* const all = PQconninfo(connection);
  for (const PQconninfoOption* one = all; one != nullptr && one->keyword != nullptr; ++one) {
    if (one->val == nullptr) continue;
    const std::string_view name = one->keyword;
    if (name == "sslmode") made.is_verified = std::strcmp(one->val, "verify-full") == 0;
    const bool is_file = std::strcmp(one->val, "system") != 0;
    if (name == "sslrootcert" && is_file) made.authorities_file = one->val;
  }
  PQconninfoFree(all);
  return made;
}

std::string Connection::take_warning() { return std::exchange(*warning_, ""); }

Connection::Instant Connection::deadline() const {
  return std::chrono::steady_clock::now() + patience_ + kAnswerMargin;
}

Error Connection::over(std::string_view why) {
  is_over_ = true;
  return unreachable(why);
}

Error Connection::failure(const pg_result* result) const {
  const char* field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string state = field == nullptr ? "" : field;
  const std::string why = one_line(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
  const auto error = [&](ErrorKind kind, const char* code) {
    return Error{kind, code, fmt::format("PostgreSQL: {} ({})", why, state), ""};
  };
  if (state == kStaleEpoch) return error(ErrorKind::kConflict, "epoch_stale");
  if (state == kMovedHead || state == "23505") return error(ErrorKind::kConflict, "head_moved");
  if (state == "53100") {
    const char* host = PQhost(connection_.get());
    return Error{ErrorKind::kExhausted, "disk_full",
                 fmt::format("the disk of the PostgreSQL server at {} is full ({})",
                             host == nullptr ? "?" : host, why),
                 ""};
  }
  if (is_class(state, "28") || state == "42501") return error(ErrorKind::kDenied, "store_denied");
  if (is_class(state, "XX00")) return error(ErrorKind::kCorrupt, "store_damaged");
  if (state == "55P03") return error(ErrorKind::kUnavailable, kRowHeld);
  const bool passes = state.empty() || is_class(state, "08") || is_class(state, "53") ||
                      is_class(state, "57") || is_class(state, "40") || state == "25006" ||
                      state == "25P03";
  return passes ? error(ErrorKind::kUnavailable, "store_unreachable")
                : error(ErrorKind::kInternal, "store_failed");
}

// True when the socket is ready, false when `wakes` is, an error once the time is over.
Result<bool> Connection::wait(short events, Instant until, int wakes) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd fds[2] = {{PQsocket(connection_.get()), events, 0}, {wakes, POLLIN, 0}};
    const int count =
        left.count() <= 0 ? 0 : ::poll(fds, wakes < 0 ? 1 : 2, static_cast<int>(left.count()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Error{ErrorKind::kTimeout, "timeout", "no answer came in time", ""};
    if (wakes >= 0 && fds[1].revents != 0) return false;
    return true;
  }
}

Result<void> Connection::await_answer(Instant until) {
  PGconn* connection = connection_.get();
  for (;;) {
    const int unsent = PQflush(connection);
    if (unsent < 0) return over(one_line(PQerrorMessage(connection)));
    if (unsent == 0 && PQisBusy(connection) == 0) return {};
    const auto events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN);
    if (const auto ready = wait(events, until, -1); !ready.ok()) {
      return over(ready.error().message);
    }
    if (PQconsumeInput(connection) == 0) return over(one_line(PQerrorMessage(connection)));
    if (PQisBusy(connection) == 0 && unsent == 0) return {};
  }
}

// All results of one command; the last one, or the first error.
Result<Rows> Connection::answer() {
  const Instant until = deadline();
  Rows rows;
  std::optional<Error> failed;
  for (;;) {
    TRY(await_answer(until));
    Rows next;
    next.result_.reset(PQgetResult(connection_.get()));
    if (next.result_ == nullptr) break;
    if (!failed && !is_good(PQresultStatus(next.result_.get()))) {
      failed = failure(next.result_.get());
    }
    rows = std::move(next);
  }
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    return over(failed ? failed->message : "the connection was closed");
  }
  if (failed) return *failed;
  if (rows.result_ == nullptr) return over("no answer");
  return rows;
}

Result<Rows> Connection::run(const char* sql, const Params& params) {
  if (is_over_) return unreachable("the connection is over");
  std::array<const char*, Params::kMax> values = params.values_;
  const std::array<int, Params::kMax> formats = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (std::size_t i = 0; i < params.count_; ++i) {
    if (params.types_[i] == kInt8 && params.sizes_[i] > 0) values[i] = params.numbers_[i].data();
  }
  if (PQsendQueryParams(connection_.get(), sql, static_cast<int>(params.count_),
                        params.types_.data(), values.data(), params.sizes_.data(), formats.data(),
                        /*resultFormat=*/1) == 0) {
    return over(one_line(PQerrorMessage(connection_.get())));
  }
  return answer();
}

Result<void> Connection::execute(const char* sql) {
  if (is_over_) return unreachable("the connection is over");
  if (PQsendQuery(connection_.get(), sql) == 0) {
    return over(one_line(PQerrorMessage(connection_.get())));
  }
  TRY(answer());
  return {};
}

Result<void> Connection::prepare(const char* name, const char* sql) {
  if (is_over_) return unreachable("the connection is over");
  if (PQsendPrepare(connection_.get(), name, sql, 0, nullptr) == 0) {
    return over(one_line(PQerrorMessage(connection_.get())));
  }
  TRY(answer());
  return {};
}

Result<void> Connection::begin_pipeline() {
  if (is_over_) return unreachable("the connection is over");
  take_warning();
  if (PQenterPipelineMode(connection_.get()) == 0) return over("it is busy");
  return {};
}

Result<void> Connection::send(const char* prepared, const Params& params) {
  std::array<const char*, Params::kMax> values = params.values_;
  const std::array<int, Params::kMax> formats = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (std::size_t i = 0; i < params.count_; ++i) {
    if (params.types_[i] == kInt8 && params.sizes_[i] > 0) values[i] = params.numbers_[i].data();
  }
  if (PQsendQueryPrepared(connection_.get(), prepared, static_cast<int>(params.count_),
                          values.data(), params.sizes_.data(), formats.data(), 1) == 0) {
    return over(one_line(PQerrorMessage(connection_.get())));
  }
  return {};
}

Result<void> Connection::finish_pipeline() {
  PGconn* connection = connection_.get();
  if (PQpipelineSync(connection) == 0) return over(one_line(PQerrorMessage(connection)));
  const Instant until = deadline();
  std::optional<Error> failed;
  for (bool synced = false; !synced;) {
    TRY(await_answer(until));
    Rows next;
    next.result_.reset(PQgetResult(connection));
    if (PQstatus(connection) != CONNECTION_OK) {
      return over(next.result_ != nullptr ? failure(next.result_.get()).message
                                          : "the connection was closed");
    }
    if (next.result_ == nullptr) continue;  // the end of one command's results
    const ExecStatusType status = PQresultStatus(next.result_.get());
    synced = status == PGRES_PIPELINE_SYNC;
    // What was not run for an earlier error is none of its own.
    if (!synced && !failed && status != PGRES_PIPELINE_ABORTED && !is_good(status)) {
      failed = failure(next.result_.get());
    }
  }
  if (PQexitPipelineMode(connection) == 0) return over("it did not end its answers");
  if (failed) return *failed;
  return {};
}

Result<bool> Connection::wait_notified(std::chrono::milliseconds at_most, int wakes) {
  if (is_over_) return unreachable("the connection is over");
  PGconn* connection = connection_.get();
  const auto ready = wait(POLLIN, std::chrono::steady_clock::now() + at_most, wakes);
  if (!ready.ok() || !*ready) return false;
  if (PQconsumeInput(connection) == 0) return over(one_line(PQerrorMessage(connection)));
  bool notified = false;
  while (PGnotify* said = PQnotifies(connection)) {
    notified = true;
    PQfreemem(said);
  }
  return notified;
}

// -- PgTransaction -------------------------------------------------------------------------------

Result<PgTransaction> PgTransaction::begin(Connection& connection, const char* how) {
  TRY(connection.execute(how));
  return PgTransaction(connection);
}

PgTransaction::~PgTransaction() {
  if (connection_ != nullptr && !connection_->is_over()) (void)connection_->execute("ROLLBACK");
}

Result<void> PgTransaction::commit() {
  Connection& connection = *std::exchange(connection_, nullptr);
  connection.take_warning();
  const Result<void> done = connection.execute("COMMIT");
  if (!done.ok() && connection.is_over()) return commit_unknown(done.error().message);
  TRY(done);
  if (const std::string warning = connection.take_warning(); !warning.empty()) {
    return commit_unknown(warning);
  }
  return {};
}

}  // namespace dove::store
