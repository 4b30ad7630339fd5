#include "sim/traces/gang_trace.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "sim/traces/csv_table.h"
#include "sim/traces/decimal.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kGpusMax = 1'000'000;
constexpr std::int64_t kTimeMax_ms = 100'000'000'000'000;  // three thousand years
constexpr std::int64_t kIterationsMax = 1'000'000'000'000;
constexpr std::int64_t kOverheadMax_s = 86'400;
constexpr Span kOverheadOtherwise = seconds(10);
constexpr std::int64_t kProfiling_permille = 1015;

using ByModel = std::map<std::string, Span, std::less<>>;

class Overheads {
 public:
  static Result<Overheads> read(const std::string& path) {
    TRY_ASSIGN(const CsvTable table, CsvTable::read(path));
    TRY_ASSIGN(const std::size_t gpus_column, table.column("num_gpu"));
    Overheads found;
    found.path_ = path;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      TRY_ASSIGN(const std::int64_t gpus, table.number(row, gpus_column, 1, kGpusMax));
      const auto [at, is_new] = found.by_gpus_.try_emplace(gpus);
      if (!is_new) {
        return table.error(row, gpus_column,
                           fmt::format("{} GPUs are there twice; remove one line", gpus));
      }
      for (std::size_t column = 0; column < table.heading().size(); ++column) {
        if (column == gpus_column) continue;
        TRY_ASSIGN(const std::int64_t us,
                   decimal(table, row, column, 1'000'000, 0, kOverheadMax_s));
        at->second[table.heading()[column]] = Span{us};
      }
    }
    return found;
  }

  const ByModel* of(std::int64_t gpus) const {
    const auto at = by_gpus_.find(gpus);
    return at == by_gpus_.end() ? nullptr : &at->second;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::map<std::int64_t, ByModel> by_gpus_;
};

struct Columns {
  std::size_t gpus, submitted, iterations, model, iteration;
};

Result<Columns> columns_of(const CsvTable& table) {
  Columns columns{};
  const std::pair<const char*, std::size_t*> wanted[] = {{"num_gpu", &columns.gpus},
                                                         {"submit_time", &columns.submitted},
                                                         {"iterations", &columns.iterations},
                                                         {"model_name", &columns.model},
                                                         {"iteration_time", &columns.iteration}};
  for (const auto& [name, at] : wanted) {
    TRY_ASSIGN(*at, table.column(name));
  }
  return columns;
}

Result<GangJob> read_job(const CsvTable& table, std::size_t row, const Columns& columns,
                         const Overheads& overheads) {
  GangJob job;
  TRY_ASSIGN(job.gpus, table.number(row, columns.gpus, 1, kGpusMax));
  TRY_ASSIGN(job.submitted_at.us, decimal(table, row, columns.submitted, 1000, 0, kTimeMax_ms));
  TRY_ASSIGN(const std::int64_t iterations,
             table.number(row, columns.iterations, 1, kIterationsMax));
  TRY_ASSIGN(const std::int64_t each_us,
             decimal(table, row, columns.iteration, 1000, 0, kTimeMax_ms));
  const __int128 work = static_cast<__int128>(iterations) * each_us * kProfiling_permille / 1000;
  if (work < 1 || work > kTimeMax_ms * 1000) {
    return table.error(row, columns.iterations,
                       "its work is not between a microsecond and 3 000 years; check iterations "
                       "and iteration_time (in milliseconds)");
  }
  job.work = Span{static_cast<std::int64_t>(work)};
  const ByModel* by_model = overheads.of(job.gpus);
  if (by_model == nullptr) {
    return table.error(
        row, columns.gpus,
        fmt::format("{} has no line for {} GPUs; add one", overheads.path(), job.gpus));
  }
  TRY_ASSIGN(const std::string_view model, table.name(row, columns.model));
  const auto at = by_model->find(model);
  job.switch_overhead = at == by_model->end() ? kOverheadOtherwise : at->second;
  return job;
}

}  // namespace

Result<std::vector<GangJob>> read_gang_trace(const std::string& trace_path,
                                             const std::string& overheads_path) {
  TRY_ASSIGN(const Overheads overheads, Overheads::read(overheads_path));
  TRY_ASSIGN(const CsvTable table, CsvTable::read(trace_path));
  TRY_ASSIGN(const Columns columns, columns_of(table));
  std::vector<GangJob> jobs;
  jobs.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    TRY_ASSIGN(const GangJob job, read_job(table, row, columns, overheads));
    jobs.push_back(job);
  }
  if (jobs.empty()) {
    return error_at(trace_path, 2, 1, "there is no job below the heading; name a trace with jobs");
  }
  return jobs;
}

}  // namespace dove::sim
