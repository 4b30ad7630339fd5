// Any bytes as output of Slurm's commands, or as its configuration files: never a crash.
//
// seeds: tests/seeds/slurm
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "slurm/gres.h"
#include "slurm/migrate/migration.h"
#include "slurm/slurm_json.h"
#include "slurm/sync.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto nodes = dove::slurm::read_nodes(text);
  if (nodes.ok()) (void)dove::slurm::read_jobs(text, *nodes);
  (void)dove::slurm::read_jobs(text, {});
  (void)dove::slurm::read_answer(text);
  (void)dove::slurm::device_types(text);
  (void)dove::slurm::device_indices(text);
  dove::slurm::MigrationInput input;
  input.conf = dove::slurm::read_conf("slurm.conf", text);
  input.associations = input.qos = text;
  (void)dove::slurm::migrate(input);
  return 0;
}
