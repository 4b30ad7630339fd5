// The little languages inside sbatch options: times, memory, gres, dependencies, arrays, hostlists.
//
// All functions are pure. Errors are kInvalid with an empty field (the caller knows the place) and
// a message that shows the accepted forms. Counts are bounded, so that no input can make them
// large.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "model/resources.h"
#include "model/time.h"

namespace dove::jobfiles {

constexpr std::size_t kArrayElementsMax = 100'000;
constexpr std::int32_t kArrayIndexMax = 4'000'000;
constexpr std::size_t kHostsMax = 20'000;

// "90" (minutes), "5:30", "1:00:00", "2-12", "2-12:30", "2-12:30:00"; "0", "-1", "INFINITE",
// "UNLIMITED": Span 0, no limit. Seconds are kept (Slurm rounds up to minutes).
Result<Span> parse_time_limit(std::string_view text);

// "4G", "512" (MB), "100K", "1T", "4GB"; units are powers of 1024. "0" is 0: all of the node.
Result<std::int64_t> parse_memory(std::string_view text);

// A list "gpu:a100:2,rdma:1" as per-node amounts: gpu[:TYPE][:N], mps:N (hundredths of a GPU),
// gpu:1g.10gb[:N] (slices; also mig-1g.10gb and a100_1g.10gb), NAME[:N] becomes a countable. "none"
// and "" are empty. Counts may end in K, M, G (1024).
Result<Request> parse_gres(std::string_view text);

// "[TYPE:]N" of --gpus and its relatives: a Request with gpus and gpu_model only.
Result<Request> parse_gpus(std::string_view text);

struct Dependencies {
  std::vector<Dependency> list;
  bool any = false;  // separated by '?'
};
// The job id of an array's element, asked for "ID_INDEX".
using FindElement = std::function<Result<JobId>(JobId array, std::int32_t index)>;
// "afterok:12:13,after:14+5,singleton": all kinds of sbatch but afterburstbuffer and expand.
Result<Dependencies> parse_dependency(std::string_view text, const FindElement& find_element = {});

// "0-9", "1,3,5-7", "0-15:4", each with "%N".
Result<ArraySpec> parse_array(std::string_view text);

// "node[01-03,7],login": names in order of appearance, each once.
Result<std::vector<std::string>> parse_hostlist(std::string_view text);

// "2", "2-4", "2k"; {min, max}.
struct NodeCount {
  std::int32_t min = 0;
  std::int32_t max = 0;
};
Result<NodeCount> parse_node_count(std::string_view text);

// "now+1hour", "16:00", "tomorrow", "midnight", "noon", "teatime", "2026-01-20T12:34:00",
// "01/20/26", "12:34 PM"...; local time is UTC + utc_offset_s.
Result<Instant> parse_begin(std::string_view text, Instant now, std::int32_t utc_offset_s);

// "USR1", "SIGTERM", "15".
Result<std::int32_t> parse_signal(std::string_view text);

}  // namespace dove::jobfiles
