// Reading traces in the Standard Workload Format.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "files/text_file.h"
#include "sim/traces/csv_table.h"
#include "sim/traces/queue_accounts.h"

namespace dove::sim {
namespace {

constexpr std::size_t kFields = 18;
constexpr std::int64_t kUsersMax = 1'000'000'000;
constexpr std::array<const char*, kFields> kNames = {
    "job number",       "submit time",   "wait time",       "run time",       "allocated procs",
    "average CPU time", "used memory",   "requested procs", "requested time", "requested memory",
    "status",           "user",          "group",           "executable",     "queue",
    "partition",        "preceding job", "think time"};
enum Field {
  kSubmit = 1,
  kRun = 3,
  kAllocated = 4,
  kRequested = 7,
  kRequestedTime = 8,
  kUser = 11
};

struct Line {
  std::array<std::string_view, kFields> fields;
  std::array<std::size_t, kFields> columns = {};  // from 1
};

Result<Line> split(std::string_view text, const std::string& path, std::size_t number) {
  Line line;
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t\r", at)) < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
    if (count == kFields) {
      return error_at(path, number, at + 1, "more than 18 fields; is it a workload in SWF?");
    }
    line.fields[count] = text.substr(at, end - at);
    line.columns[count++] = at + 1;
    at = end;
  }
  if (count == kFields) return line;
  return error_at(path, number, text.size() + 1,
                  fmt::format("{} fields where SWF has 18; write -1 for what is unknown", count));
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<void> add(std::string_view text, std::size_t number) {
    TRY_ASSIGN(const Line line, split(text, path_, number));
    QueueJob job;
    TRY_ASSIGN(const std::int64_t submit_s, whole(line, number, kSubmit, kQueueTimeMax_s));
    TRY_ASSIGN(const std::int64_t run_s, whole(line, number, kRun, kQueueTimeMax_s));
    TRY_ASSIGN(const std::int64_t allocated, whole(line, number, kAllocated, kQueueGpusMax));
    TRY_ASSIGN(const std::int64_t requested, whole(line, number, kRequested, kQueueGpusMax));
    TRY_ASSIGN(const std::int64_t limit_s, whole(line, number, kRequestedTime, kQueueTimeMax_s));
    job.gpus = requested > 0 ? requested : allocated;
    if (submit_s < 0 || run_s <= 0 || job.gpus <= 0) {
      ++trace_.left_out;
      return {};
    }
    job.submitted_at = Instant{} + seconds(submit_s);
    job.run = seconds(run_s);
    job.limit = seconds(std::max(limit_s, run_s));
    job.says_limit = limit_s > 0;
    TRY(whole(line, number, kUser, kUsersMax));
    job.account = accounts_.number(trace_, line.fields[kUser]);
    trace_.jobs.push_back(job);
    return {};
  }

  QueueTrace take() { return std::move(trace_); }

 private:
  Result<std::int64_t> whole(const Line& line, std::size_t number, Field field,
                             std::int64_t most) const {
    return whole_number(line.fields[field], -1, most, kNames[field], path_, number,
                        line.columns[field]);
  }

  const std::string& path_;
  QueueTrace trace_;
  QueueAccounts accounts_;
};

}  // namespace

Result<QueueTrace> read_swf(const std::string& path) {
  TRY_ASSIGN(const std::string text, files::read_text(path, kTraceBytesMax));
  Reader reader(path);
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    ++number;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != ';') TRY(reader.add(line, number));
    begin = end + 1;
  }
  return finished_trace(reader.take(), path);
}

}  // namespace dove::sim
