#include "cli/slurm/job_fields.h"

#include <fmt/format.h>

#include <array>

#include "cli/face.h"
#include "cli/slurm/local_ids.h"
#include "cli/terminal/times.h"
#include "text/feature_expression.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

struct Title {
  char field;
  const char* text;
};
constexpr std::array<Title, 50> kTitles = {{{'i', "JOBID"},
                                            {'A', "JOBID"},
                                            {'F', "ARRAY_JOB_ID"},
                                            {'K', "ARRAY_TASK_ID"},
                                            {'j', "NAME"},
                                            {'u', "USER"},
                                            {'U', "UID"},
                                            {'t', "ST"},
                                            {'T', "STATE"},
                                            {'M', "TIME"},
                                            {'l', "TIME_LIMIT"},
                                            {'L', "TIME_LEFT"},
                                            {'D', "NODES"},
                                            {'C', "CPUS"},
                                            {'P', "PARTITION"},
                                            {'q', "QOS"},
                                            {'R', "NODELIST(REASON)"},
                                            {'N', "NODELIST"},
                                            {'r', "REASON"},
                                            {'p', "PRIORITY"},
                                            {'Q', "PRIORITY"},
                                            {'S', "START_TIME"},
                                            {'e', "END_TIME"},
                                            {'V', "SUBMIT_TIME"},
                                            {'Z', "WORK_DIR"},
                                            {'o', "COMMAND"},
                                            {'a', "ACCOUNT"},
                                            {'c', "MIN_CPUS"},
                                            {'m', "MIN_MEMORY"},
                                            {'b', "TRES_PER_NODE"},
                                            {'E', "DEPENDENCY"},
                                            {'B', "EXEC_HOST"},
                                            {'f', "FEATURES"},
                                            {'h', "OVER_SUBSCRIBE"},
                                            {'k', "COMMENT"},
                                            {'v', "RESERVATION"},
                                            {'g', "GROUP"},
                                            {'n', "REQ_NODES"},
                                            {'x', "EXC_NODES"},
                                            {'y', "NICE"},
                                            {'w', "WCKEY"},
                                            {'G', "GROUP"},
                                            {'z', "S:C:T"},
                                            {'H', "SOCKETS_PER_NODE"},
                                            {'I', "CORES_PER_SOCKET"},
                                            {'J', "THREADS_PER_CORE"},
                                            {'O', "CONTIGUOUS"},
                                            {'X', "CORE_SPEC"},
                                            {'Y', "SCHEDNODES"},
                                            {'d', "MIN_TMP_DISK"}}};

std::string gres_of(const JobView& job) {
  if (job.gpus_milli == 0) return "N/A";
  const std::int64_t nodes = std::max<std::int64_t>(job.nodes_asked, 1);
  return fmt::format("gres:gpu:{}", milli_text(job.gpus_milli / nodes));
}

std::string joined(const std::vector<std::string>& words, const char* otherwise) {
  return words.empty() ? otherwise : fmt::format("{}", fmt::join(words, ","));
}

std::string time_left(const JobView& job, std::int64_t now_us) {
  const std::int64_t end_us = job.limit_at_us();
  if (end_us != 0 && !job.ended) return clock_text(end_us - now_us);
  if (job.time_limit_us == 0) return "UNLIMITED";
  return clock_text(job.time_limit_us - job.run_us(now_us));
}

std::int64_t started_at_us(const JobView& job) {
  const AttemptView* attempt = job.last_attempt();
  return attempt == nullptr || job.waiting() ? 0 : attempt->started_at_us;
}

std::string nodes_or_reason(const JobView& job) {
  const std::vector<std::string> nodes = job.nodes();
  if (!nodes.empty() && !job.ended) return text::fold_sorted_hostlist(nodes);
  if (job.ended && job.state == "completed") return text::fold_sorted_hostlist(nodes);
  return "(" + slurm_reason(job) + ")";
}

// "3"; of several in one line those of "12_[2-5%1]".
std::string array_tasks(const JobView& job) {
  if (job.array.empty()) return "N/A";
  const std::size_t begin = job.shown_id.find('[');
  const std::size_t end = job.shown_id.find(']');
  if (begin == std::string::npos || end == std::string::npos) {
    return std::to_string(job.array_index);
  }
  return job.shown_id.substr(begin + 1, end - begin - 1);
}

std::string time_field(const JobView& job, char field, std::int64_t now_us) {
  const std::int64_t start_us = started_at_us(job);
  switch (field) {
    case 'M':
      return clock_text(job.run_us(now_us));
    case 'l':
      return job.time_limit_us == 0 ? "UNLIMITED" : clock_text(job.time_limit_us);
    case 'L':
      return time_left(job, now_us);
    case 'S':
      if (start_us != 0) return local_time_text(start_us);
      return local_time_text(job.promised_start_us != 0 ? job.promised_start_us : job.begin_at_us);
    case 'e':
      if (job.ended) return local_time_text(job.ended_at_us);
      if (start_us == 0) return "N/A";
      return job.limit_at_us() == 0 ? "NONE" : local_time_text(job.limit_at_us());
    case 'V':
      return local_time_text(job.submitted_at_us);
    default:
      return "";
  }
}

std::string amount_field(const JobView& job, char field) {
  switch (field) {
    case 'D':
      return std::to_string(job.node_count());
    case 'C':
      return std::to_string(job.cores);
    case 'p':
    case 'Q':
      return std::to_string(job.priority);
    case 'c':
      return std::to_string(job.cores_per_task);
    case 'm':
      return bytes_text(job.memory_bytes);
    case 'b':
      return gres_of(job);
    case 'd':
    case 'y':
      return "0";
    default:
      return "";
  }
}

std::string text_field(const JobView& job, char field) {
  switch (field) {
    case 'i':
      return job.shown_id;
    case 'A':
      return job.id;
    case 'F':
      return job.array.empty() ? job.id : job.array;
    case 'K':
      return array_tasks(job);
    case 'j':
      return job.name;
    case 'u':
      return job.user;
    case 'U':
      return local_ids(job.user).uid;
    case 'g':
      return local_ids(job.user).group;
    case 'G':
      return local_ids(job.user).gid;
    case 't':
      return slurm_state(job).compact;
    case 'T':
      return slurm_state(job).full;
    case 'P':
      return job.pool.empty() ? "default" : job.pool;
    case 'q':
      return job.queue;
    case 'R':
      return nodes_or_reason(job);
    case 'N':
      return text::fold_sorted_hostlist(job.nodes());
    case 'r':
      return slurm_reason(job);
    case 'Z':
      return job.workdir;
    case 'o':
      return job.command.empty() ? job.source_name : job.command;
    case 'a':
      return job.project.empty() ? "(null)" : job.project;
    case 'E':
      return joined(job.dependencies, "(null)");
    case 'B':
      return job.nodes().empty() ? "n/a" : job.nodes().front();
    case 'f':
      return job.features.empty() ? "(null)" : text::write_feature_expression(job.features);
    case 'n':
      return joined(job.nodes_wanted, "");
    case 'h':
      return "OK";
    case 'z':
      return "*:*:*";
    case 'H':
    case 'I':
    case 'J':
      return "*";
    case 'O':
      return "0";
    case 'X':
      return "N/A";
    case 'Y':
    case 'k':
    case 'v':
    case 'w':
      return "(null)";
    default:
      return "";
  }
}

}  // namespace

std::string squeue_title(char field) {
  for (const Title& title : kTitles) {
    if (title.field == field) return title.text;
  }
  return "";
}

std::string squeue_letters() {
  std::string letters;
  for (const Title& title : kTitles) letters += title.field;
  return letters;
}

std::string squeue_field(const JobView& job, char field, std::int64_t now_us) {
  const std::string_view kTimes = "MlLSeV";
  const std::string_view kAmounts = "DCpQcmbdy";
  if (kTimes.find(field) != std::string_view::npos) return time_field(job, field, now_us);
  if (kAmounts.find(field) != std::string_view::npos) return amount_field(job, field);
  return text_field(job, field);
}

const std::vector<LongName>& squeue_long_names() {
  static const std::vector<LongName> kNames = {
      {"JobID", 'A'},        {"JobArrayID", 'i'},    {"ArrayJobID", 'F'}, {"ArrayTaskID", 'K'},
      {"Name", 'j'},         {"UserName", 'u'},      {"UserID", 'U'},     {"StateCompact", 't'},
      {"State", 'T'},        {"TimeUsed", 'M'},      {"TimeLimit", 'l'},  {"TimeLeft", 'L'},
      {"NumNodes", 'D'},     {"NumCPUs", 'C'},       {"Partition", 'P'},  {"QOS", 'q'},
      {"ReasonList", 'R'},   {"NodeList", 'N'},      {"Reason", 'r'},     {"Priority", 'p'},
      {"PriorityLong", 'Q'}, {"StartTime", 'S'},     {"EndTime", 'e'},    {"SubmitTime", 'V'},
      {"WorkDir", 'Z'},      {"Command", 'o'},       {"Account", 'a'},    {"MinCpus", 'c'},
      {"MinMemory", 'm'},    {"tres-per-node", 'b'}, {"Dependency", 'E'}, {"BatchHost", 'B'},
      {"Feature", 'f'},      {"OverSubscribe", 'h'}, {"Comment", 'k'},    {"Reservation", 'v'},
      {"GroupName", 'g'},    {"ReqNodes", 'n'},      {"Nice", 'y'},       {"WCKey", 'w'}};
  return kNames;
}

}  // namespace dove::cli
