#include "server/job_select.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "codec/words.h"
#include "text/words.h"
#include "views/state_words.h"

namespace dove::server {
namespace {

struct JobName {
  JobId id;
  std::optional<std::int32_t> index;
};

std::optional<JobName> parse(std::string_view text) {
  JobName name;
  const char* end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, name.id.value);
  if (id.ec != std::errc() || !name.id) return std::nullopt;
  if (id.ptr == end) return name;
  if (*id.ptr != '_') return std::nullopt;
  std::string_view rest(id.ptr + 1, static_cast<std::size_t>(end - id.ptr - 1));
  if (rest.size() > 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
  }
  std::int32_t index = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), index);
  if (read.ec != std::errc() || read.ptr != rest.data() + rest.size()) return std::nullopt;
  name.index = index;
  return name;
}

Error no_such_job(std::string_view text) {
  return Error{
      ErrorKind::kNotFound, "no_such_job",
      fmt::format("there is no job {}; it may have ended long ago and been forgotten (`dove "
                  "ps -a` lists what is known)",
                  text.substr(0, 64)),
      "id"};
}

const core::Job* element(const core::State& state, JobId array, std::int32_t index) {
  for (auto job = state.jobs.lower_bound(array); job != state.jobs.end(); ++job) {
    if (job->second.array != array) break;
    if (job->second.array_index == index) return &job->second;
  }
  return nullptr;
}

}  // namespace

Result<const core::Job*> find_job(const core::State& state, std::string_view text) {
  const std::optional<JobName> name = parse(text);
  if (!name.has_value()) return no_such_job(text);
  const core::Job* job =
      name->index.has_value() ? element(state, name->id, *name->index) : state.find_job(name->id);
  if (job == nullptr) return no_such_job(text);
  return job;
}

Result<std::vector<const core::Job*>> find_jobs(const core::State& state, std::string_view text) {
  const std::optional<JobName> name = parse(text);
  if (!name.has_value()) return no_such_job(text);
  std::vector<const core::Job*> found;
  if (!name->index.has_value()) {
    // The elements follow the first one, which may have been forgotten before the others.
    for (auto job = state.jobs.lower_bound(name->id); job != state.jobs.end(); ++job) {
      if (job->second.array != name->id) break;
      found.push_back(&job->second);
    }
  }
  if (found.empty()) {
    TRY_ASSIGN(const core::Job* job, find_job(state, text));
    found.push_back(job);
  }
  return found;
}

JobId job_submitted_at(const core::State& state, Seq seq) {
  std::uint64_t low = 1;
  std::uint64_t high = state.next_job;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto job = state.jobs.lower_bound(JobId(middle));
    if (job == state.jobs.end() || job->second.submitted_seq >= seq) {
      high = middle;
    } else {
      low = job->first.value + 1;
    }
  }
  const auto found = state.jobs.lower_bound(JobId(low));
  if (found == state.jobs.end() || found->second.submitted_seq != seq) return JobId();
  return found->first;
}

bool is_known_state(std::string_view state) {
  if (state == "active" || state == "ended" || state == "waiting") return true;
  const auto words = views::job_states();
  return std::find(words.begin(), words.end(), state) != words.end();
}

namespace {

bool holds(std::string_view whole, std::string_view text) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  return std::search(whole.begin(), whole.end(), text.begin(), text.end(), same) != whole.end();
}

bool says(const JobSpec& spec, std::string_view text) {
  return holds(spec.name, text) || holds(spec.user, text) || holds(spec.label, text);
}

}  // namespace

bool is_wanted(const core::State& state, const core::Job& job, const JobQuery& query) {
  const JobSpec& spec = *job.spec;
  if (!query.user.empty() && spec.user != query.user) return false;
  if (!query.queue.empty() && spec.queue != query.queue) return false;
  if (!query.project.empty() && spec.project != query.project) return false;
  if (!query.name.empty() && spec.name != query.name) return false;
  if (!query.label.empty() && spec.label != query.label) return false;
  if (!query.text.empty() && !says(spec, query.text)) return false;
  if (job.submitted_at < query.submitted_from || job.submitted_at >= query.submitted_before) {
    return false;
  }
  if (query.ended_from.has_value() || query.ended_before.has_value()) {
    if (job.phase != JobPhase::kEnded || job.ended_at < query.ended_from.value_or(Instant{}) ||
        job.ended_at >= query.ended_before.value_or(kNever)) {
      return false;
    }
  }
  if (!query.pool.empty() && spec.pool != query.pool) {
    const auto pool = state.pools.find(query.pool);
    if (!spec.pool.empty() || pool == state.pools.end() || !pool->second.is_default) return false;
  }
  if (query.states.empty()) return true;
  return query.states.count(std::string(codec::word(job.phase))) != 0 ||
         query.states.count(std::string(views::state_word(job))) != 0;
}

std::vector<std::string> split_list(std::string_view text) { return text::split(text, ","); }

}  // namespace dove::server
