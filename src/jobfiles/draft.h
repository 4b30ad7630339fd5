// A job while its options are being read, and what makes a submission of it at the end.
//
// Options set fields in the order file, environment, command line; a later one wins. What decides
// the shape (nodes, tasks, cores, memory, GPUs) is collected in Sizes and put together by finish(),
// because the options only mean something together. One thread; owned by the reader of one file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobfiles/amounts.h"
#include "jobfiles/source.h"

namespace dove::jobfiles {

// Who says it; a higher level replaces what contradicts it at a lower one.
enum class Level { kFile, kEnvironment, kCommandLine };

// A size as somebody gave it.
template <class T>
struct Size {
  T value;
  Place place;
  Level level = Level::kFile;
};

struct Sizes {
  std::optional<Size<NodeCount>> nodes;
  std::optional<Size<std::int32_t>> tasks;
  std::optional<Size<std::int32_t>> tasks_per_node;
  std::optional<Size<std::int32_t>> tasks_per_gpu;
  std::optional<Size<std::int32_t>> cpus_per_task;
  std::optional<Size<std::int32_t>> cpus_per_gpu;
  std::optional<Size<std::int64_t>> memory_per_node;
  std::optional<Size<std::int64_t>> memory_per_cpu;
  std::optional<Size<std::int64_t>> memory_per_gpu;
  std::optional<Size<Request>> gres;           // per node
  std::optional<Size<Request>> gpus;           // of the whole job
  std::optional<Size<Request>> gpus_per_node;  // gpus and gpu_model only
  std::optional<Size<Request>> gpus_per_task;
  bool any() const;
};

struct Draft {
  codec::Submission submission;
  Behaviour behaviour;
  Sizes sizes;
  Affinity affinity = Affinity::kDefault;  // of every group, unless kDefault
  // Options that were given, by their names in full, as the last one wrote its value.
  std::map<std::string, std::string, std::less<>> given;
  std::vector<Warning> warnings;
  const Context* context = nullptr;   // never null while options are applied
  Level level = Level::kFile;         // of the options being applied now
  std::optional<Option> export_list;  // --export, read at the end
  std::optional<Option> export_file;
  std::optional<Option> output;  // and error: their patterns are checked at the end
  std::optional<Option> error;
  std::optional<Option> input;

  // Only the first kWarningsMax warnings are kept; full() tells that no more will be.
  static constexpr std::size_t kWarningsMax = 1000;
  bool full() const { return warnings.size() > kWarningsMax; }
  void warn(const Place& place, std::string code, std::string message);
};

// Puts the sizes together as sbatch does: one task per node where only nodes are given, one node
// where nothing is. Writes submission.spec.groups[0].
Result<void> finish_sizes(Draft& draft);
// The same options on a job that has its groups already (a native file): each given size replaces
// that of its one group.
Result<void> adjust_group(Draft& draft);
// --distribution, for all groups. REQUIRES: they are there.
void finish_affinity(Draft& draft);
// --export and --export-file: what of the submitter's environment goes into the job.
Result<void> finish_environment(Draft& draft, bool export_by_default);
// Makes paths of output that climb by ".." absolute; warns about patterns that cannot be filled in.
void finish_output_paths(Draft& draft);

}  // namespace dove::jobfiles
