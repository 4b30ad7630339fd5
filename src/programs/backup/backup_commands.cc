// dove backup, dove restore.
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "cli/client/endpoint.h"
#include "codec/quantity.h"
#include "files/text_file.h"
#include "programs/backup/backup.h"
#include "programs/backup/backup_place.h"
#include "programs/backup/bucket_copy.h"
#include "programs/backup/follow_log.h"
#include "programs/backup/shared_restore.h"
#include "programs/commands.h"
#include "programs/settings.h"
#include "telemetry/clock.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPemBytesMax = 256 << 10;

cli::CommandSpec backup_spec() {
  cli::CommandSpec spec;
  spec.name = "backup";
  spec.summary = "Copy a controller's data while it runs, and verify the copy";
  spec.group = "Programs";
  spec.operands = "BACKUP";
  spec.operands_min = 1;
  spec.operands_max = 1;
  spec.completes = "file";
  spec.description =
      "Makes the directory BACKUP: the log of one instant with its snapshots, the authority,\n"
      "keys and secrets. Every record, blob and snapshot of the copy is verified before BACKUP\n"
      "has its name. Keys and secrets are sealed for a certificate, whose key is only needed to\n"
      "restore.\n"
      "\n"
      "BACKUP may be s3://BUCKET/PREFIX. The credentials are those of Amazon's tools:\n"
      "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION; AWS_ENDPOINT_URL names another\n"
      "store of this protocol.\n"
      "\n"
      "With --store the log is read from the database that several controllers share, and the "
      "keys\n"
      "from --data, the directory of one of them, whether it leads or stands by. The role in the\n"
      "URL needs SELECT alone.\n"
      "\n"
      "With --follow it keeps running and stores what the server writes afterwards beside the\n"
      "backup: any moment since can be restored. It continues a backup that is there.";
  spec.options = {
      {"data", 0, "DIR", kServerDataHelp, false},
      {"store", 0, "URL",
       "PostgreSQL that holds its log (postgres://...); --data is then any controller's", false},
      {"seal-to", 0, "FILE", "certificate (PEM) for which keys and secrets are sealed", false},
      {"plain", 0, "",
       "leave keys and secrets readable: keep the backup where only root can read it", false},
      {"follow", 0, "", "keep what is written afterwards, until it is stopped", false},
      {"every", 0, "SPAN", "how often --follow looks for it (60s)", false},
      {"scratch", 0, "DIR", "where a copy for a bucket is made first (/var/tmp)", false},
  };
  return spec;
}

cli::CommandSpec restore_spec() {
  cli::CommandSpec spec;
  spec.name = "restore";
  spec.summary = "Make a controller's data directory from a backup";
  spec.group = "Programs";
  spec.operands = "[BACKUP]";
  spec.operands_min = 0;
  spec.operands_max = 1;
  spec.completes = "file";
  spec.description =
      "Verifies the whole backup first. The directory must not exist, or must be empty. What\n"
      "happened after the backup, or after --at, is lost; agents report what they hold, and that\n"
      "goes on. Without BACKUP, --in-place goes on from the data that are there: an older copy,\n"
      "or what is left on a disk; with --store, from the log that several controllers share, "
      "which\n"
      "are all stopped first. With BACKUP, --store puts the log into an empty PostgreSQL, and the\n"
      "keys into --data. docs/operate/recovery.md says what follows.";
  spec.options = {
      {"at", 0, "TIME|SEQ",
       "the last moment, as 2026-11-23T14:05:07 (local) or with a Z (UTC), or the last record",
       false},
      {"in-place", 0, "", "go on from the data in --data as they are", false},
      {"store", 0, "URL", "the PostgreSQL that is to hold the log, or holds it (--in-place)",
       false},
      {"moved", 0, "", "nothing happened after the backup: the server was stopped before it",
       false},
      {"data", 0, "DIR", "where to put the server's data", false},
      {"key", 0, "FILE", "key (PEM) of the certificate that keys and secrets were sealed for",
       false},
      {"scratch", 0, "DIR", "where a backup from a bucket is put first (/var/tmp)", false},
  };
  return spec;
}

int fail(const char* command, const Error& error) {
  fmt::print(stderr, "dove {}: {}\n", command, error.message);
  return cli::exit_code(error);
}

Error bad_option(const char* option, const char* why) {
  return Error{ErrorKind::kInvalid, "bad_option", fmt::format("{}: {}", option, why), option};
}

std::string data_of(const cli::Invocation& invocation) {
  return fs::absolute(invocation.get("data", server_data_here()));
}

// The text of the file that the option names; "" without the option.
Result<std::string> file_of(const cli::Invocation& invocation, const char* option) {
  if (!invocation.has(option)) return std::string();
  return files::read_text(invocation.get(option), kPemBytesMax);
}

// What follows a log ends at the first signal, with all that was written until then; the second
// breaks off, as the first does with everything else.
std::atomic<bool> g_stop{false};
std::atomic<bool> g_break_off{false};
std::atomic<bool> g_follows{false};

void stop_at_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    if (g_stop.exchange(true) || !g_follows) g_break_off = true;
  };
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

BackupSource source_of(const cli::Invocation& invocation) {
  return {data_of(invocation), invocation.get("store"), g_break_off};
}

// A directory of its own that is gone with it.
class Scratch {
 public:
  static Result<std::unique_ptr<Scratch>> make(const cli::Invocation& invocation) {
    std::string name = invocation.get("scratch", "/var/tmp") + "/dove-backup-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) return std::make_unique<Scratch>(name);
    return Error{
        ErrorKind::kInternal, "file_unwritable",
        fmt::format("{}: {}; name another directory with --scratch", name, std::strerror(errno)),
        "--scratch"};
  }
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

std::string place_of(const std::string& operand) {
  return is_bucket_url(operand) ? operand : fs::absolute(operand).lexically_normal().string();
}

Result<BackupFacts> make_at(const cli::Invocation& invocation, const std::string& to,
                            BackupPlace& place, const std::string& certificate) {
  const BackupSource from = source_of(invocation);
  const std::int64_t now_s = telemetry::now_us() / 1'000'000;
  if (!is_bucket_url(to)) return make_backup(from, to, certificate, now_s);
  // Before the copy, which may take long.
  TRY_ASSIGN(const bool exists, is_uploaded(place));
  if (exists) {
    return Error{ErrorKind::kConflict, "backup_exists",
                 to + ": there is a backup already; name another prefix", to};
  }
  TRY_ASSIGN(const auto scratch, Scratch::make(invocation));
  const std::string copy = scratch->path() + "/backup";
  TRY_ASSIGN(const BackupFacts facts, make_backup(from, copy, certificate, now_s));
  TRY(upload_backup(copy, place));
  return facts;
}

Result<bool> is_there(const std::string& to, BackupPlace& place) {
  if (is_bucket_url(to)) return is_uploaded(place);
  return fs::exists(to);
}

Result<void> follow(const cli::Invocation& invocation, BackupPlace& place, Span every) {
  TRY_ASSIGN(const std::optional<KeptTo> base, backed_up_to(place));
  if (!base) {
    return Error{ErrorKind::kConflict, "no_backup",
                 place.path("") + " is there, and holds no backup; name another", place.path("")};
  }
  g_follows = true;
  return follow_log(source_of(invocation), place, *base, every, g_stop);
}

int backup(const cli::Invocation& invocation) {
  const std::string to = place_of(invocation.operands.front());
  if (is_bucket_url(to) && invocation.has("plain")) {
    return fail("backup", bad_option("--plain",
                                     "others can read what is in a bucket: name a certificate with "
                                     "--seal-to"));
  }
  if (invocation.has("seal-to") == invocation.has("plain")) {
    return fail("backup", bad_option("--seal-to",
                                     "name a certificate that keys and secrets are sealed for, "
                                     "or leave them readable with --plain"));
  }
  const Result<std::string> certificate = file_of(invocation, "seal-to");
  if (!certificate.ok()) return fail("backup", certificate.error());
  const Result<Span> every = codec::parse_span(invocation.get("every", "60s"));
  if (!every.ok() || *every < seconds(1) || *every > seconds(86'400)) {
    return fail("backup", bad_option("--every", "name a span of 1s to 1d"));
  }
  if (invocation.has("every") && !invocation.has("follow")) {
    return fail("backup", bad_option("--every", "it has an effect with --follow only"));
  }
  stop_at_signals();
  const auto place = open_place(to, g_break_off);
  if (!place.ok()) return fail("backup", place.error());
  const Result<bool> exists = invocation.has("follow") ? is_there(to, **place) : false;
  if (!exists.ok()) return fail("backup", exists.error());
  if (!*exists) {
    const Result<BackupFacts> made = make_at(invocation, to, **place, *certificate);
    if (!made.ok()) return fail("backup", made.error());
    fmt::print("{}: records to {}, {}, verified; keys and secrets {}\n", to, made->to.head.value,
               codec::human_bytes(made->bytes), made->sealed ? "sealed" : "readable");
  }
  if (!invocation.has("follow")) return cli::kExitOk;
  const Result<void> done = follow(invocation, **place, *every);
  return done.ok() ? cli::kExitOk : fail("backup", done.error());
}

// A record's number, or a time.
Result<store::CutPoint> cut_point(const std::string& text) {
  if (text.empty()) return store::CutPoint{};
  if (text.find_first_not_of("0123456789") == std::string::npos && text.size() < 19) {
    return store::CutPoint{std::nullopt, Seq{std::stoull(text)}};
  }
  std::tm parts{};
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M", &parts);
  if (end != nullptr && *end == ':') end = strptime(end, ":%S", &parts);
  const bool is_utc = end != nullptr && std::string_view(end) == "Z";
  if (end == nullptr || (*end != '\0' && !is_utc)) {
    return bad_option("--at", "name a record, or a time such as 2026-11-23T14:05:07");
  }
  parts.tm_isdst = -1;
  const std::time_t at = is_utc ? timegm(&parts) : std::mktime(&parts);
  return store::CutPoint{Instant{std::int64_t{at} * 1'000'000}, std::nullopt};
}

void say_what_follows(std::uint64_t dropped) {
  fmt::print(stderr,
             "{} records after them are left out. Start the server: agents bring what they hold, "
             "and it goes on; docs/operate/recovery.md says what becomes of it\n",
             dropped);
}

// A log that lies in PostgreSQL.
int go_on_in_store(const cli::Invocation& invocation) {
  const bool is_alone = invocation.operands.empty() && !invocation.has("at") &&
                        !invocation.has("moved") && !invocation.has("key") &&
                        !invocation.has("data");
  if (!is_alone) {
    return fail("restore", bad_option("--in-place",
                                      "with --store it takes nothing else: to go back to a backup, "
                                      "name an empty database, and leave --in-place out"));
  }
  const Result<Seq> head = restore_shared(invocation.get("store"), telemetry::now_us() / 1'000'000);
  if (!head.ok()) return fail("restore", head.error());
  fmt::print("the log goes on from record {}\n", head->value);
  fmt::print(stderr,
             "Start the controllers: agents bring what they hold, and it goes on; "
             "docs/operate/recovery.md says what becomes of it\n");
  return cli::kExitOk;
}

int go_on_in_place(const cli::Invocation& invocation, const std::string& data) {
  const bool is_alone = invocation.operands.empty() && !invocation.has("at") &&
                        !invocation.has("moved") && !invocation.has("key");
  if (!is_alone) {
    return fail("restore", bad_option("--in-place",
                                      "it takes no backup, --at, --key or --moved: "
                                      "to go back, make a backup and restore that"));
  }
  const auto cut = restore_in_place(data, telemetry::now_us() / 1'000'000);
  if (!cut.ok()) return fail("restore", cut.error());
  fmt::print("{}: goes on from record {}\n", data, cut->head.value);
  for (const char* key : {"secret", "identity.pem"}) {
    if (fs::exists(data + "/" + key)) continue;
    fmt::print(stderr,
               "{}/{} is not there: put it back with the other keys of the cluster before the "
               "server starts, or all agents and people need new tokens\n",
               data, key);
  }
  say_what_follows(cut->dropped);
  return cli::kExitOk;
}

Result<BackupFacts> restore_from(const cli::Invocation& invocation, const std::string& data,
                                 const std::string& key, const RestoreTo& to) {
  const std::string from = place_of(invocation.operands.front());
  TRY_ASSIGN(const auto place, open_place(from, g_break_off));
  if (!is_bucket_url(from)) return restore_backup(from, *place, data, key, to);
  TRY_ASSIGN(const auto scratch, Scratch::make(invocation));
  TRY(download_backup(*place, scratch->path()));
  return restore_backup(scratch->path(), *place, data, key, to);
}

int restore(const cli::Invocation& invocation) {
  if (invocation.has("store") && invocation.has("in-place")) return go_on_in_store(invocation);
  if (!invocation.has("data")) {
    return fail("restore", bad_option("--data", "name the directory that the data are to be in"));
  }
  const std::string data = fs::absolute(invocation.get("data")).lexically_normal();
  if (invocation.has("in-place")) return go_on_in_place(invocation, data);
  if (invocation.operands.empty()) {
    return fail("restore", bad_option("BACKUP", "name the backup, or say --in-place"));
  }
  if (invocation.has("at") && invocation.has("moved")) {
    return fail("restore", bad_option("--moved", "with --at something is left out"));
  }
  const Result<std::string> key = file_of(invocation, "key");
  if (!key.ok()) return fail("restore", key.error());
  const Result<store::CutPoint> point = cut_point(invocation.get("at"));
  if (!point.ok()) return fail("restore", point.error());
  stop_at_signals();
  const RestoreTo to{*point, telemetry::now_us() / 1'000'000, invocation.has("moved"),
                     invocation.get("store")};
  const Result<BackupFacts> restored = restore_from(invocation, data, *key, to);
  if (!restored.ok()) return fail("restore", restored.error());
  fmt::print("{}: records to {}{}, verified\n", data, restored->to.head.value,
             to.store.empty() ? "" : " in the database");
  if (!to.is_moved) say_what_follows(restored->dropped);
  return cli::kExitOk;
}

}  // namespace

cli::Command backup_command() { return {backup_spec(), backup}; }
cli::Command restore_command() { return {restore_spec(), restore}; }

}  // namespace dove::programs
