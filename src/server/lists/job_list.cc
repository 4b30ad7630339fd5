// The list of jobs: its filters, and its pages, which are put together in pieces.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "accounts/access.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/lists/job_programs.h"
#include "server/lists/list_text.h"
#include "views/job_view.h"

namespace dove::server {
namespace {

// The most jobs whose programs are read for one page of sessions, or of jobs with some labels.
constexpr std::size_t kProgramsInPage = 1000;
constexpr std::chrono::seconds kProgramsWait{5};
// A list's piece takes a turn of the loop for about 2 ms. A request passes several turns, and waits
// for a piece in each.
constexpr int kLookedAtInPiece = 20'000;
constexpr std::int64_t kSummariesInPiece = 60;
constexpr std::int64_t kWholeInPiece = 15;
constexpr std::size_t kProgramsInPiece = 50;

using Json = nlohmann::json;

// Sets `instant` where the query has it.
Result<void> read_instant(const Call& call, const char* name, std::optional<Instant>& instant) {
  TRY_ASSIGN(const std::int64_t us, call.query_number(name, -1, 0, INT64_MAX));
  if (us >= 0) instant = Instant{us};
  return {};
}

Result<JobQuery> read_query(const Call& call, const core::State& state) {
  JobQuery query;
  for (std::string& word : split_list(call.query_text("state"))) {
    if (!is_known_state(word)) {
      return invalid(
          "bad_parameter",
          fmt::format("there is no job state {}; states are waiting, held, active, "
                      "preparing, running, stopping, ended, and how jobs end: completed, "
                      "failed, cancelled, timed_out, stopped_idle, node_lost, dependency_never_met",
                      word.substr(0, 64)),
          "state");
    }
    query.states.insert(std::move(word));
  }
  query.user = call.query_text("user");
  query.queue = call.query_text("queue");
  query.project = call.query_text("project");
  query.pool = call.query_text("pool");
  query.name = call.query_text("name");
  query.label = call.query_text("label");
  query.text = call.query_text("text");
  TRY_ASSIGN(query.submitted_from.us, call.query_number("submitted_from", 0, 0, INT64_MAX));
  TRY_ASSIGN(query.submitted_before.us,
             call.query_number("submitted_before", kNever.us, 0, INT64_MAX));
  TRY(read_instant(call, "ended_from", query.ended_from));
  TRY(read_instant(call, "ended_before", query.ended_before));
  if (call.request.find_query("ids") == nullptr) return query;
  query.ids.emplace();
  for (const std::string& text : split_list(call.query_text("ids"))) {
    Result<std::vector<const core::Job*>> found = find_jobs(state, text);
    if (!found.ok()) continue;  // one that was forgotten is not in the list
    for (const core::Job* job : *found) query.ids->push_back(job->id);
  }
  std::sort(query.ids->begin(), query.ids->end());
  query.ids->erase(std::unique(query.ids->begin(), query.ids->end()), query.ids->end());
  return query;
}

// A page of jobs, put together in pieces: what is asked for, and what there is of it.
struct JobPage {
  JobQuery query;
  WantedLabels labels = {};
  bool is_full = false;  // whole jobs, else summaries
  bool is_newest_first = false;
  bool is_of_sessions = false;
  bool has_frameworks = false;
  std::uint64_t at = 0;  // the next job to look at; of `query.ids` the next of them
  std::size_t looked_at_programs = 0;
  std::optional<std::uint64_t> read_for = {};  // `at`, when programs were last read from the store
  ListText list;

  // Whether jobs are chosen by what they run.
  bool reads_programs() const { return is_of_sessions || !labels.empty(); }
};

Result<JobPage> read_page(const Call& call, const core::State& state) {
  TRY_ASSIGN(JobQuery query, read_query(call, state));
  TRY_ASSIGN(const std::int64_t limit, call.query_number("limit", 1000, 1, 10'000));
  const std::string order = call.query_text("order");
  if (!order.empty() && order != "oldest" && order != "newest") {
    return invalid("bad_parameter", "order is oldest or newest", "order");
  }
  TRY_ASSIGN(const std::int64_t after, call.query_number("after", 0, 0, INT64_MAX));
  JobPage page{.query = std::move(query), .list = ListText("jobs", state.head, limit)};
  TRY_ASSIGN(page.labels, read_wanted_labels(call));
  page.is_full = call.query_flag("full");
  page.is_of_sessions = call.query_flag("app");
  page.has_frameworks = call.query_flag("framework");
  page.is_newest_first = order == "newest" && !page.query.ids.has_value();
  const auto behind = static_cast<std::uint64_t>(after);
  if (page.query.ids.has_value()) {
    const auto& ids = *page.query.ids;
    page.at = static_cast<std::uint64_t>(std::upper_bound(ids.begin(), ids.end(), JobId(behind)) -
                                         ids.begin());
  } else if (page.is_newest_first) {
    page.at = behind > 0 ? std::min(behind, state.next_job) : state.next_job;
  } else {
    page.at = behind + 1;
  }
  return page;
}

// The next job to look at; none: there is none. `job` is none where it was forgotten.
bool next_job(const core::State& state, JobPage& page, const core::Job*& job) {
  if (state.jobs.begin() == state.jobs.end()) return false;
  if (page.query.ids.has_value()) {
    if (page.at >= page.query.ids->size()) return false;
    job = state.find_job((*page.query.ids)[page.at++]);
  } else if (page.is_newest_first) {
    if (page.at <= state.jobs.begin()->first.value) return false;
    job = state.find_job(JobId(--page.at));
  } else {
    const auto found = state.jobs.lower_bound(JobId(page.at));
    if (found == state.jobs.end()) return false;
    job = &found->second;
    page.at = job->id.value + 1;
  }
  return true;
}

bool is_chosen(Context& context, const Call& call, const core::Job& job, const JobPage& page) {
  return (!page.is_of_sessions || is_way_in(context, call, job)) &&
         (page.labels.empty() || has_labels(context, call, job, page.labels));
}

// One that is wanted, and whose program was read where that is needed. False: the page is over.
bool take_job(Context& context, const Call& call, const core::Job& job, JobPage& page) {
  const core::State& state = context.state();
  if (page.reads_programs()) {
    if (++page.looked_at_programs > kProgramsInPage) {
      page.list.has_next();
      return false;
    }
    if (!is_chosen(context, call, job, page)) {
      page.list.passed(job.id.value);
      return true;
    }
  }
  if (page.list.is_full()) {
    page.list.has_next();
    return false;
  }
  Json entry = page.is_full ? views::job_json(state, job) : views::job_summary_json(state, job);
  context.nodes.observed.show_job(job.id, /*whole=*/page.is_full, entry);
  if (page.is_of_sessions) show_session(context, call, job, entry);
  if (page.has_frameworks) show_framework(context, job, entry);
  page.list.add(job.id.value, entry);
  return true;
}

// A bounded part of the page; whether it goes on. With `unread` it goes on from the first job whose
// program is among these, once they were read.
bool take_piece(Context& context, const Call& call, JobPage& page,
                std::vector<std::string>& unread) {
  const core::State& state = context.state();
  const std::int64_t entries_before = page.list.entries();
  const std::int64_t entries_max = page.is_full ? kWholeInPiece : kSummariesInPiece;
  std::uint64_t unread_at = 0;
  std::size_t programs = 0;
  for (int looked = 0; looked < kLookedAtInPiece; ++looked) {
    const std::uint64_t at = page.at;
    const core::Job* job = nullptr;
    if (!next_job(state, page, job)) {
      if (unread.empty()) return false;
      break;
    }
    if (job == nullptr || !is_wanted(state, *job, page.query)) continue;
    if (!accounts::may_see(state, call.caller, *job)) continue;
    if (page.reads_programs()) {
      if (programs++ == kProgramsInPiece) {
        page.at = at;
        break;
      }
      if (is_unread(context, *job)) {
        if (unread.empty()) unread_at = at;
        unread.push_back(job->spec->exec_digest);
      }
    }
    if (!unread.empty()) continue;
    if (!take_job(context, call, *job, page)) return false;
    if (page.list.entries() - entries_before >= entries_max) break;
  }
  if (!unread.empty()) page.at = unread_at;
  return true;
}

void take_pieces(Context& context, const CallPtr& call, const std::shared_ptr<JobPage>& page);

// Goes on with the page once these programs were read from the store.
void read_programs(Context& context, const CallPtr& call, const std::shared_ptr<JobPage>& page,
                   const std::vector<std::string>& unread) {
  // They were read for this very job, and have gone again: there are too many large ones.
  if (page->read_for == page->at) return call->fail(listener::Blobs::later());
  page->read_for = page->at;
  context.desk.blobs.fetch(unread, kProgramsWait,
                           [&context, call, page](const Result<listener::Blobs::Found>& found) {
                             if (!found.ok()) return call->fail(found.error());
                             take_pieces(context, call, page);
                           });
}

void take_pieces(Context& context, const CallPtr& call, const std::shared_ptr<JobPage>& page) {
  context.pieces.read([&context, call, page] {
    std::vector<std::string> unread;
    const bool goes_on = take_piece(context, *call, *page, unread);
    if (!unread.empty()) {
      read_programs(context, call, page, unread);
      return false;
    }
    if (goes_on) return call->responder->peer_alive();
    call->responder->send(page->list.answer(Json::object()));
    return false;
  });
}

}  // namespace

static void list_now(Context& context, const CallPtr& call) {
  Result<JobPage> page = read_page(*call, context.state());
  if (!page.ok()) return call->fail(page.error());
  take_pieces(context, call, std::make_shared<JobPage>(std::move(page).value()));
}

void list_jobs(Context& context, CallPtr call) {
  JobQuery wanted;
  if (call->request.find_query("since") != nullptr) {  // else the list itself reads it, once
    Result<JobPage> page = read_page(*call, context.state());
    if (!page.ok()) return call->fail(page.error());
    wanted = std::move(page->query);
    // A job that leaves the list, or ends, changes it, too.
    wanted.states.clear();
    wanted.ended_from.reset();
    wanted.ended_before.reset();
  }
  context.lists.answer(ListOf::kJobs, std::move(call), std::move(wanted),
                       [&context](const CallPtr& own) { list_now(context, own); });
}

}  // namespace dove::server
