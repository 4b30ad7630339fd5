// The data of a controller: who may read them, room, certificates, the log and its snapshots.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "programs/doctor/checks.h"
#include "programs/follow/copy_mark.h"
#include "programs/full_disk.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kRoomLeast_bytes = 64 << 20;  // below it submissions are refused
constexpr std::int64_t kAuthorityDays = 90;
constexpr std::int64_t kSnapshotRecordsMax = 5'000'000;

Check of_log(Verdict verdict, std::string evidence, std::string remedy = "") {
  return {"server", "log", verdict, std::move(evidence), std::move(remedy)};
}

Check damaged(const Error& error) {
  const bool is_damage = error.kind == ErrorKind::kCorrupt;
  return of_log(is_damage ? Verdict::kFault : Verdict::kUnknown, error.message,
                is_damage ? "docs/operate/recovery.md" : "");
}

// The chain, over what a start would read; over everything when asked.
Check check_chain(store::SqliteStore& store, const store::Head& head, Seq from) {
  std::int64_t batches = 0;
  const Result<void> read = store.read(from, [&](const store::Batch&) {
    ++batches;
    return true;
  });
  if (!read.ok()) return damaged(read.error());
  return of_log(Verdict::kGood, fmt::format("the chain holds from record {} to {}, {} batches",
                                            from.value + 1, head.seq.value, batches));
}

void check_log(const DoctorOptions& options, std::vector<Check>& out) {
  auto store = store::SqliteStore::open(options.server_data, store::OpenMode::kReadOnly);
  if (!store.ok()) return out.push_back(damaged(store.error()));
  const store::Head head = (*store)->head();
  const Result<std::optional<store::Snapshot>> snapshot = (*store)->latest_snapshot();
  const Result<Seq> forgotten = (*store)->forgotten_through();
  if (!forgotten.ok()) return out.push_back(damaged(forgotten.error()));
  Seq from = *forgotten;
  if (!snapshot.ok()) {
    Check check = damaged(snapshot.error());
    check.subject = "snapshot";
    out.push_back(std::move(check));
  } else if (snapshot->has_value()) {
    const Seq at = (*snapshot)->head.seq;
    const auto behind = static_cast<std::int64_t>(head.seq.value - at.value);
    out.push_back(
        {"server", "snapshot", behind > kSnapshotRecordsMax ? Verdict::kWarning : Verdict::kGood,
         fmt::format("of record {}, {} behind the log's end", at.value, behind),
         behind > kSnapshotRecordsMax ? "restart takes long; is the server's disk full?" : ""});
    if (!options.whole_log) from = at;
  }
  out.push_back(check_chain(**store, head, from));
  const Result<std::vector<Error>> damages = (*store)->damages();
  if (!damages.ok()) return out.push_back(damaged(damages.error()));
  for (const Error& damage : *damages) {
    out.push_back(
        {"server", damage.field, Verdict::kFault, damage.message, "docs/operate/recovery.md"});
  }
}

// A copy that a follower keeps: what has to be put beside it before a cluster can go on from it,
// and how old its end is.
void check_copy(const DoctorOptions& options, std::vector<Check>& out) {
  const std::string& data = options.server_data;
  if (copied_cluster(data).empty()) return;
  std::string missing;
  for (const char* name : {"secret", "token", "identity.pem"}) {  // that each controller has
    if (::access((data + "/" + name).c_str(), F_OK) != 0) missing += std::string(" ") + name;
  }
  out.push_back({"server", "keys of the copy", missing.empty() ? Verdict::kGood : Verdict::kWarning,
                 missing.empty() ? "they are here" : "a follower copies none; missing:" + missing,
                 missing.empty() ? "" : "copy them from the controller: docs/operate/follow.md"});
  auto store = store::SqliteStore::open(data, store::OpenMode::kReadOnly);
  if (!store.ok()) return;  // the log's own check says so
  const store::Head head = (*store)->head();
  const std::int64_t age_s = options.now_s - head.at.us / 1'000'000;
  out.push_back(
      {"server", "copy", Verdict::kGood,
       fmt::format("its last record, {}, is {} old; the follower's /readyz says how far it "
                   "is behind",
                   head.seq.value, span_text(std::max<std::int64_t>(age_s, 0))),
       ""});
}

}  // namespace

std::vector<Check> check_server(const DoctorOptions& options) {
  const std::string& data = options.server_data;
  std::vector<Check> out;
  struct stat is {};
  if (::stat(data.c_str(), &is) != 0) {
    out.push_back({"server", "data " + data, Verdict::kFault, std::strerror(errno),
                   "name the server's directory with --data"});
    return out;
  }
  const bool is_open = (is.st_mode & 022U) != 0;
  out.push_back({"server", "data " + data, is_open ? Verdict::kFault : Verdict::kGood,
                 fmt::format("mode {:04o}", is.st_mode & 07777U),
                 is_open ? "chmod 700 " + data : ""});
  out.push_back(check_disk("server", data, kRoomLeast_bytes));
  out.push_back(check_fsync("server", data));
  for (const char* name :
       {"ca.key", "ca.next.key", "identity.pem", "secret", "secrets.key", "token"}) {
    Check check = check_private("server", data + "/" + name);
    if (check.evidence != "not there") out.push_back(std::move(check));
  }
  out.push_back(check_certificate("server", data + "/ca.pem", options.now_s, kAuthorityDays,
                                  "dove ca rotate"));
  check_log(options, out);
  check_copy(options, out);
  return out;
}

}  // namespace dove::programs
