// The data of a controller: who may read them, room, certificates, the log and its snapshots.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "files/text_file.h"
#include "listener/own_keys.h"
#include "openid/signer.h"
#include "programs/doctor/checks.h"
#include "programs/follow/copy_mark.h"
#include "programs/full_disk.h"
#include "programs/service/authorities.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/tls/authority.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kRoomLeast_bytes = 64 << 20;  // below it submissions are refused
constexpr std::int64_t kAuthorityDays = 90;
constexpr std::int64_t kShownDays = 14;
constexpr std::size_t kPemMax = 256 << 10;
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

// Whether it can, by the file's own mode.
bool can_read(const std::string& path, uid_t user) {
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0) return false;
  if (user == 0) return true;
  return (is.st_mode & (is.st_uid == user ? 0400U : 0044U)) != 0;
}

// The site's own certificate, in place of that of the cluster's authority. `user`: as whom the
// server runs.
void check_shown(const DoctorOptions& options, uid_t user, std::vector<Check>& out) {
  if (options.certificate.empty()) return;
  constexpr const char* kRemedy = "put a new one and its key there: docs/operate/tls.md";
  Check shown =
      check_certificate("server", options.certificate, options.now_s, kShownDays, kRemedy);
  Check key{"server", "key " + options.key, Verdict::kGood, "it is the certificate's", ""};
  const Result<std::string> chain_pem = files::read_text(options.certificate, kPemMax);
  const Result<std::string> key_pem = files::read_text(options.key, kPemMax);
  if (!chain_pem.ok() && chain_pem.error().kind == ErrorKind::kNotFound) {
    shown = {"server", shown.subject, Verdict::kFault, "not there", kRemedy};
  }
  out.push_back(std::move(shown));
  Result<void> fits;
  if (chain_pem.ok() && key_pem.ok()) fits = wire::belong_together({*chain_pem, *key_pem});
  if (chain_pem.ok() && fits.ok()) fits = wire::check_chain(*chain_pem);
  if (!key_pem.ok() || !fits.ok()) {
    const bool is_hidden = !key_pem.ok() && key_pem.error().kind != ErrorKind::kNotFound;
    key.verdict = is_hidden ? Verdict::kUnknown : Verdict::kFault;
    key.evidence = key_pem.ok() ? fits.error().message : key_pem.error().message;
    key.remedy = kRemedy;
  }
  for (const std::string& path : {options.certificate, options.key}) {
    if (key.verdict != Verdict::kGood || can_read(path, user)) continue;
    key.verdict = Verdict::kFault;
    key.evidence = fmt::format("user {}, whose the data are, cannot read {}", user, path);
    key.remedy = "chown or chmod it, so that the server reads it";
  }
  out.push_back(std::move(key));
}

// As a start reads them. Other checks say which of them this user cannot read.
void check_keys(const std::string& data, std::vector<Check>& out) {
  std::vector<Error> damages = listener::damages_of_own_keys(data);
  for (Error& damage : damages_of_authorities(data)) damages.push_back(std::move(damage));
  const std::string identity = data + "/identity.pem";
  if (::access(identity.c_str(), R_OK) == 0) {
    if (const auto signer = openid::Signer::open(identity); !signer.ok()) {
      damages.push_back(signer.error());
    }
  }
  for (const Error& damage : damages) {
    const bool is_damage = damage.kind == ErrorKind::kCorrupt;
    Check check{"server", "key " + std::filesystem::path(damage.field).filename().string(),
                is_damage ? Verdict::kFault : Verdict::kUnknown, damage.message,
                is_damage ? "docs/operate/recovery.md" : ""};
    if (damage.code == "token_replaced") {
      check.verdict = Verdict::kWarning;
      check.remedy = "where nobody put it there, remove it";
    }
    out.push_back(std::move(check));
  }
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
  check_keys(data, out);
  out.push_back(check_certificate("server", data + "/ca.pem", options.now_s, kAuthorityDays,
                                  "dove ca rotate"));
  check_shown(options, is.st_uid, out);
  check_limits("server", data + "/lock", out);
  check_log(options, out);
  check_copy(options, out);
  return out;
}

}  // namespace dove::programs
