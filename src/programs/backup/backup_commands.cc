// dove backup, dove restore.
#include <fmt/format.h>

#include <filesystem>

#include "cli/client/endpoint.h"
#include "codec/quantity.h"
#include "files/text_file.h"
#include "programs/backup/backup.h"
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
      "Makes the directory BACKUP: the log of one instant with its snapshots, the authority, keys\n"
      "and secrets. Every record, blob and snapshot of the copy is verified before BACKUP has its\n"
      "name. Keys and secrets are sealed for a certificate, whose key is only needed to restore.";
  spec.options = {
      {"data", 0, "DIR", "the server's directory (DOVE_DATA, or ~/.local/state/dove)", false},
      {"seal-to", 0, "FILE", "certificate (PEM) for which keys and secrets are sealed", false},
      {"plain", 0, "", "leave keys and secrets readable, for root's eyes in a safe place", false},
  };
  return spec;
}

cli::CommandSpec restore_spec() {
  cli::CommandSpec spec;
  spec.name = "restore";
  spec.summary = "Make a controller's data directory of a backup";
  spec.group = "Programs";
  spec.operands = "BACKUP";
  spec.operands_min = 1;
  spec.operands_max = 1;
  spec.completes = "file";
  spec.description =
      "Verifies the whole backup first. The directory must not be there, or be empty. What "
      "happened\n"
      "after the backup is lost: docs/operate/recovery.md says what to do with the agents.";
  spec.options = {
      {"data", 0, "DIR", "where the server's data are to be", false},
      {"key", 0, "FILE", "key (PEM) of the certificate that keys and secrets were sealed for",
       false},
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
  const std::string stated = cli::environment_value("DOVE_DATA");
  return fs::absolute(invocation.get("data", stated.empty() ? default_data_dir() : stated));
}

// The text of the file that the option names; "" without the option.
Result<std::string> file_of(const cli::Invocation& invocation, const char* option) {
  if (!invocation.has(option)) return std::string();
  return files::read_text(invocation.get(option), kPemBytesMax);
}

int backup(const cli::Invocation& invocation) {
  if (invocation.has("seal-to") == invocation.has("plain")) {
    return fail("backup", bad_option("--seal-to",
                                     "name a certificate that keys and secrets are sealed for, "
                                     "or leave them readable with --plain"));
  }
  const Result<std::string> certificate = file_of(invocation, "seal-to");
  if (!certificate.ok()) return fail("backup", certificate.error());
  const std::string to = fs::absolute(invocation.operands.front()).lexically_normal();
  const Result<BackupFacts> made =
      make_backup(data_of(invocation), to, *certificate, telemetry::now_us() / 1'000'000);
  if (!made.ok()) return fail("backup", made.error());
  fmt::print("{}: records to {}, {}, verified; keys and secrets {}\n", to, made->head.value,
             codec::human_bytes(made->bytes), made->sealed ? "sealed" : "readable");
  return cli::kExitOk;
}

int restore(const cli::Invocation& invocation) {
  if (!invocation.has("data")) {
    return fail("restore", bad_option("--data", "name the directory that the data are to be in"));
  }
  const Result<std::string> key = file_of(invocation, "key");
  if (!key.ok()) return fail("restore", key.error());
  const std::string from = fs::absolute(invocation.operands.front()).lexically_normal();
  const std::string data = fs::absolute(invocation.get("data")).lexically_normal();
  const Result<BackupFacts> restored = restore_backup(from, data, *key);
  if (!restored.ok()) return fail("restore", restored.error());
  fmt::print("{}: records to {}, verified\n", data, restored->head.value);
  fmt::print(stderr,
             "what came after them is lost; before you start the server, see \"When something "
             "was lost\" in docs/operate/recovery.md\n");
  return cli::kExitOk;
}

}  // namespace

cli::Command backup_command() { return {backup_spec(), backup}; }
cli::Command restore_command() { return {restore_spec(), restore}; }

}  // namespace dove::programs
