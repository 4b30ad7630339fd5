// dove migrate slurm: a Slurm's configuration as objects for `dove apply`.
#include <fmt/format.h>
#include <grp.h>

#include <cstdio>
#include <optional>
#include <string>

#include "files/text_file.h"
#include "programs/commands.h"
#include "slurm/migrate/migration.h"

namespace dove::programs {
namespace {

constexpr std::size_t kFileBytesMax = 16 << 20;

Result<std::string> read(const std::string& path) { return files::read_text(path, kFileBytesMax); }

std::optional<std::vector<std::string>> members_of(const std::string& name) {
  const group* entry = ::getgrnam(name.c_str());
  if (entry == nullptr) return std::nullopt;
  std::vector<std::string> members;
  for (char** member = entry->gr_mem; *member != nullptr; ++member) members.emplace_back(*member);
  return members;
}

Result<int> migrate(const cli::Invocation& invocation) {
  slurm::MigrationInput input;
  const std::string conf = invocation.get("conf", "/etc/slurm/slurm.conf");
  TRY_ASSIGN(input.conf, slurm::load_conf(conf, read));
  const std::string beside = conf.substr(0, conf.rfind('/') + 1) + "gres.conf";
  if (invocation.has("gres")) {
    TRY_ASSIGN(input.gres, slurm::load_conf(invocation.get("gres"), read));
  } else if (auto lines = slurm::load_conf(beside, read); lines.ok()) {
    input.gres = std::move(lines).value();
  } else if (lines.error().kind != ErrorKind::kNotFound) {
    return lines.error();
  }
  if (invocation.has("assoc")) {
    TRY_ASSIGN(input.associations, read(invocation.get("assoc")));
  }
  if (invocation.has("qos")) {
    TRY_ASSIGN(input.qos, read(invocation.get("qos")));
  }
  input.members = members_of;
  const slurm::Migration made = slurm::migrate(input);
  const std::string report = slurm::report_text(made.report);
  if (invocation.has("report")) {
    TRY(files::write_atomically(invocation.get("report"), report, 0644));
  } else {
    fmt::print(stderr, "{}", report);
  }
  fmt::print("{}", made.yaml);
  return cli::kExitOk;
}

int run(const cli::Invocation& invocation) {
  const Result<int> done = migrate(invocation);
  if (done.ok()) return *done;
  fmt::print(stderr, "dove migrate slurm: {}\n", done.error().message);
  return cli::exit_code(done.error());
}

}  // namespace

cli::Command migrate_slurm_command() {
  cli::CommandSpec spec;
  spec.name = "migrate slurm";
  spec.summary = "Make objects for `dove apply` from a Slurm's configuration";
  spec.group = "Programs";
  spec.description =
      "Reads the files alone: neither Slurm nor the controller is asked. The objects (cluster,\n"
      "pools, queues, projects, users, bindings, limits, nodes) are printed as YAML. The report\n"
      "names each option with its line as carried over, approximated or without counterpart.";
  spec.options = {
      {"conf", 0, "FILE", "slurm.conf (/etc/slurm/slurm.conf)", false},
      {"gres", 0, "FILE", "gres.conf (the one beside slurm.conf, if there is one)", false},
      {"assoc", 0, "FILE", "associations: what `sacctmgr dump CLUSTER file=FILE` wrote", false},
      {"qos", 0, "FILE", "what `sacctmgr -P show qos` printed", false},
      {"report", 0, "FILE", "write the report there (standard error)", false},
  };
  return {spec, run};
}

}  // namespace dove::programs
