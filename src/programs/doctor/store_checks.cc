// The PostgreSQL that several controllers share: whether it keeps what it acknowledged, whether it
// goes on when a machine ends, and who leads.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "programs/doctor/checks.h"
#include "store/postgres/facts.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kVersionLeast = 140'000;  // pipeline mode and what we use of SQL
constexpr std::int64_t kClockWarning_us = 1'000'000;
constexpr std::int64_t kConnectionsOfOne = 8;  // that a controller may have open
constexpr std::int64_t kBehindMax_bytes = 64 << 20;
constexpr std::int64_t kSilent_us = 5'000'000;
constexpr std::int64_t kSnapshotRecordsMax = 5'000'000;
constexpr std::uint64_t kChainRecords = 20'000;
constexpr std::int64_t kDatabaseRoomLeast_bytes = 1 << 30;
constexpr std::int64_t kAuthorityLeast_days = 30;
constexpr char kPage[] = "docs/operate/standby.md";

using Checks = std::vector<Check>;

void add(Checks& out, const char* subject, Verdict verdict, std::string evidence,
         std::string remedy = "") {
  if (verdict == Verdict::kGood) remedy.clear();
  out.push_back({"store", subject, verdict, std::move(evidence), std::move(remedy)});
}

Verdict fault_unless(bool good) { return good ? Verdict::kGood : Verdict::kFault; }
Verdict warning_unless(bool good) { return good ? Verdict::kGood : Verdict::kWarning; }

void check_line(const store::LineSafety& line, Checks& out) {
  static constexpr char kRemedy[] =
      "TLS for PostgreSQL, and sslmode=verify-full&sslrootcert=FILE in the URL; "
      "docs/operate/standby.md";
  if (line.is_open()) {
    add(out, "encryption", Verdict::kWarning,
        fmt::format("none on the way to {}: jobs' environments and hashes of passwords can be read "
                    "there",
                    line.address),
        kRemedy);
  } else if (line.encryption.empty()) {
    add(out, "encryption", Verdict::kGood, "none, and the connection stays on this machine");
  } else {
    add(out, "encryption", warning_unless(line.is_verified || line.address.empty()),
        fmt::format("{}; the server's {} is {}", line.encryption,
                    line.encryption == "GSSAPI" ? "identity" : "certificate",
                    line.is_verified ? "verified" : "not verified"),
        kRemedy);
  }
}

void check_settings(const store::PostgresFacts& facts, Checks& out) {
  add(out, "version", fault_unless(facts.version_num >= kVersionLeast),
      fmt::format("PostgreSQL {} at {}", facts.version, facts.where), "use PostgreSQL 14 or later");
  add(out, "fsync", fault_unless(facts.fsync == "on"),
      fmt::format("fsync is {}{}", facts.fsync,
                  facts.fsync == "on" ? "" : ": a power cut loses what was acknowledged"),
      "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()");
  add(out, "full_page_writes", fault_unless(facts.full_page_writes == "on"),
      fmt::format("full_page_writes is {}{}", facts.full_page_writes,
                  facts.full_page_writes == "on" ? "" : ": a power cut may tear pages for good"),
      "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()");
  add(out, "checksums", warning_unless(facts.data_checksums == "on"),
      facts.data_checksums == "on"
          ? "data_checksums are on"
          : "data_checksums are off: a flipped bit is found by the log's chain, not by PostgreSQL",
      "pg_checksums --enable, while it is stopped");
  // The writer raises what is too little for itself, so this is what it writes with.
  add(out, "synchronous_commit",
      fault_unless(facts.synchronous_commit == "on" || facts.synchronous_commit == "remote_apply"),
      fmt::format("the log is written with synchronous_commit={}", facts.synchronous_commit));
}

void check_replicas(const store::PostgresFacts& facts, Checks& out) {
  const auto is_sync = [](const store::PostgresReplica& one) {
    return one.sync_state == "sync" || one.sync_state == "quorum";
  };
  const auto count = std::count_if(facts.replicas.begin(), facts.replicas.end(), is_sync);
  if (facts.synchronous_standby_names.empty()) {
    add(out, "replication", Verdict::kWarning,
        fmt::format("no synchronous standby is asked for, {} follow: what was acknowledged in the "
                    "last moments is lost with its machine",
                    facts.replicas.size()),
        fmt::format("synchronous_mode: true in Patroni ({})", kPage));
  } else if (!facts.may_see_replicas) {
    add(out, "replication", Verdict::kUnknown,
        fmt::format("synchronous_standby_names is '{}'; who follows is not this role's to see",
                    facts.synchronous_standby_names),
        "GRANT pg_monitor TO the role");
  } else if (count == 0) {
    add(out, "replication", Verdict::kFault,
        fmt::format("synchronous_standby_names is '{}', and none of these follows: every write "
                    "waits for one",
                    facts.synchronous_standby_names),
        "start the standby, or see patronictl list");
  } else {
    add(out, "replication", Verdict::kGood, fmt::format("{} synchronous standbys follow", count));
  }
  for (const store::PostgresReplica& one : facts.replicas) {
    if (one.behind_bytes <= kBehindMax_bytes) continue;
    add(out, "lag", Verdict::kWarning,
        fmt::format("{} ({}) is {} MiB behind", one.name, one.sync_state, one.behind_bytes >> 20),
        "is its disk or its network slow?");
  }
}

// PostgreSQL tells nobody how much room it has; where it is on this machine, its disk does.
void check_disks(const store::PostgresFacts& facts, Checks& out) {
  const std::string& data = facts.data_directory;
  struct stat of_data {};
  if (!facts.line.address.empty() || data.empty() || ::stat(data.c_str(), &of_data) != 0) {
    return add(out, "disk", Verdict::kUnknown, "PostgreSQL does not say how much room it has",
               fmt::format("df -h {}, on its machine", data.empty() ? "DATA_DIRECTORY" : data));
  }
  const auto check = [&out](const std::string& directory) {
    out.push_back(check_disk("store", directory, kDatabaseRoomLeast_bytes));
    Check& made = out.back();
    if (!made.remedy.empty()) made.remedy = "free some space; docs/operate/standby.md";
  };
  check(data);
  const std::string wal = data + "/pg_wal";
  struct stat of_wal {};
  if (::stat(wal.c_str(), &of_wal) == 0 && of_wal.st_dev != of_data.st_dev) check(wal);
}

void check_room(const store::PostgresFacts& facts, Checks& out) {
  const std::int64_t left = facts.connections_max - facts.connections_used;
  add(out, "connections", warning_unless(left >= 2 * kConnectionsOfOne),
      fmt::format("{} of {} are in use", facts.connections_used, facts.connections_max),
      "raise max_connections: each controller may hold 8");
  add(out, "size", Verdict::kGood,
      fmt::format("the database has {} MiB{}", facts.database_bytes >> 20,
                  facts.has_log ? fmt::format(", {} records are kept", facts.records) : ""));
  const std::int64_t off_us = std::max<std::int64_t>(std::abs(facts.ahead_us) - facts.doubt_us, 0);
  add(out, "clock", warning_unless(off_us < kClockWarning_us),
      fmt::format("its clock is {} ms {} this machine's", std::abs(facts.ahead_us) / 1000,
                  facts.ahead_us < 0 ? "behind" : "ahead of"),
      "set the clocks (chrony); leases do not depend on it, instants of a new leader do");
}

void check_chain(const store::PostgresFacts& facts, Checks& out) {
  if (facts.chain_error) {
    const bool is_damage =
        facts.chain_error->kind == ErrorKind::kCorrupt || facts.chain_error->code == "log_rewound";
    return add(out, "chain", is_damage ? Verdict::kFault : Verdict::kUnknown,
               facts.chain_error->message, is_damage ? kPage : "");
  }
  add(out, "chain", Verdict::kGood,
      facts.chain_to ? fmt::format("it holds from record {} to {}", facts.chain_after.value + 1,
                                   facts.chain_to.value)
                     : "the log is empty");
}

void check_log(const store::PostgresFacts& facts, Checks& out) {
  if (!facts.has_log) {
    return add(out, "log", warning_unless(facts.may_create),
               facts.may_create ? "there is no log yet; the first controller makes its tables"
                                : "there is no log yet, and this role may not make its tables",
               "GRANT CREATE ON DATABASE ... TO the role");
  }
  add(out, "permissions", fault_unless(facts.may_write),
      facts.may_write ? "the role may write all tables" : "the role may not write all tables",
      "make the role the owner of the schema dove");
  const bool is_long =
      facts.records > kSnapshotRecordsMax && (!facts.snapshot || !facts.snapshot->value);
  add(out, "snapshot", warning_unless(!is_long),
      facts.snapshot ? fmt::format("of record {}", facts.snapshot->value) : "there is none yet",
      "the first takeover reads the whole log");
  check_chain(facts, out);
}

void check_turns(const store::PostgresFacts& facts, Checks& out) {
  if (!facts.leader) return;
  const store::LeaderSeen& leader = *facts.leader;
  const bool leads = leader.left_us > 0;
  add(out, "leader", fault_unless(leads || !leader.epoch),
      !leader.epoch ? "nobody has led yet"
      : leads
          ? fmt::format("{} ({}), epoch {}, its lease lasts for {} ms, the log ends at {}",
                        leader.holder, leader.url, leader.epoch.value, leader.left_us / 1000,
                        leader.head.value)
          : fmt::format("nobody leads: the lease of {} ({}) is over", leader.holder, leader.url),
      "systemctl status dove-server, on the machines of the controllers");
  for (const store::ControllerSeen& one : facts.standbys) {
    if (one.name == leader.holder) continue;  // it stood by a moment ago
    const std::uint64_t behind =
        leader.head.value > one.folded.value ? leader.head.value - one.folded.value : 0;
    add(out, "standby", warning_unless(one.ago_us < kSilent_us),
        fmt::format("{} ({}), dove {}, {} records behind, seen {} ms ago", one.name, one.url,
                    one.version, behind, one.ago_us / 1000),
        "systemctl status dove-server, on its machine");
  }
  const bool has_one = std::any_of(facts.standbys.begin(), facts.standbys.end(),
                                   [&](const store::ControllerSeen& one) {
                                     return one.name != leader.holder && one.ago_us < kSilent_us;
                                   });
  if (has_one || !leads) return;
  add(out, "standby", Verdict::kWarning, "nobody stands by: with its machine the cluster stops",
      kPage);
}

}  // namespace

std::vector<Check> check_store(const DoctorOptions& options) {
  Checks out;
  const Result<store::PostgresFacts> facts =
      store::look_at_postgres(options.store, options.whole_log ? UINT64_MAX : kChainRecords);
  if (!facts.ok()) {
    add(out, "connection", Verdict::kFault, facts.error().message, kPage);
    return out;
  }
  check_line(facts->line, out);
  if (!facts->line.authorities_file.empty()) {
    out.push_back(check_certificate("store", facts->line.authorities_file, options.now_s,
                                    kAuthorityLeast_days,
                                    fmt::format("make another authority; {}", kPage)));
  }
  check_settings(*facts, out);
  check_replicas(*facts, out);
  check_room(*facts, out);
  check_disks(*facts, out);
  check_log(*facts, out);
  check_turns(*facts, out);
  return out;
}

}  // namespace dove::programs
