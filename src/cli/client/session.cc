#include "cli/client/session.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "apps/app_programs.h"
#include "cli/client/api.h"
#include "cli/client/job_watch.h"
#include "cli/client/task_link.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "codec/json.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kAnswerMax = 16 << 20;
constexpr std::chrono::seconds kLookAtJob{1};
constexpr std::chrono::milliseconds kLookAtApp{250};
constexpr std::chrono::seconds kAppAnswers{5};
constexpr int kTroublesMax = 30;  // of the server, in a row

std::string indented(const std::string& text) {
  std::string out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += "\n  " + printable(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

class Session {
 public:
  Session(const TaskLink& link, const SessionWanted& wanted)
      : link_(link),
        wanted_(wanted),
        api_(loop_, link.address()),
        forward_(loop_, link, [this](const Error& error) { complain(error); }) {}

  Result<int> run() {
    signal(SIGPIPE, SIG_IGN);
    loop_.on_signal({SIGINT, SIGTERM, SIGHUP}, [this](int number) { interrupted(number); });
    TRY_ASSIGN(port_, forward_.listen(wanted_.address, wanted_.port, wanted_.target));
    app_.emplace(loop_, wire::Address{wanted_.address, port_});
    look_at_job();
    loop_.run();
    if (failure_) return *failure_;
    return code_;
  }

 private:
  enum class Phase { kWaiting, kStarting, kServing };

  std::string url() const {
    return fmt::format("http://{}{}", wire::Address{wanted_.address, port_}.text(), wanted_.path);
  }

  // -- the job

  using Got = std::function<void(const json&)>;
  void get(const std::string& rest, Got done) {
    api_.call(link_.request(job_target(wanted_.target.job, rest)),
              [this, done = std::move(done)](const Result<wire::Response>& answer) {
                if (!answer.ok()) return trouble(answer.error());
                if (answer->status >= 500)
                  return trouble(error_of_problem(answer->status, answer->body));
                if (answer->status >= 400)
                  return fail(error_of_problem(answer->status, answer->body));
                troubles_ = 0;
                const Result<json> said = codec::parse_json(answer->body, kAnswerMax);
                if (!said.ok()) return fail(said.error());
                done(*said);
              });
  }

  // The server may be restarted meanwhile.
  void trouble(const Error& error) {
    if (++troubles_ > kTroublesMax) return fail(error);
    timer_ = loop_.after(kLookAtJob, [this] { look_at_job(); });
  }

  void look_at_job() {
    get("", [this](const json& job) { saw(job); });
  }

  void saw(const json& job) {
    if (wanted_.takes_proxy) proxy_url_ = text_of(job, "session_url");
    const std::string state = text_of(job, "state");
    if (text_of(job, "phase") == "ended") return ended(job, state);
    if (state == "running") return started(job);
    timer_ = loop_.after(kLookAtJob, [this] { look_at_job(); });
    if (text_of(job, "phase") == "active") {  // it is being prepared
      return tell(fmt::format("Job {} is {}", wanted_.target.job, state));
    }
    get("/why", [this, state](const json& why) {
      std::string said = fmt::format("Job {} is {}", wanted_.target.job, state);
      for (const json& reason : list_of(why, "reasons")) {
        said += ": " + printable(text_of(reason, "text"));
        break;
      }
      const std::string promised = text_of(why, "promised_start");
      if (!promised.empty()) said += fmt::format("; promised to start by {}", promised);
      tell(said);
    });
  }

  // The same text is printed once.
  void tell(const std::string& said) {
    if (said == told_) return;
    told_ = said;
    say_line(said);
  }

  static void say_line(const std::string& said) {
    print(said + "\n");
    std::fflush(stdout);
  }

  void started(const json& job) {
    phase_ = Phase::kStarting;
    std::string nodes;
    for (const json& node : list_of(job, "nodes")) {
      nodes = node.get<std::string>();
      break;
    }
    tell(fmt::format("Job {} runs on {}; waiting for {} to answer", wanted_.target.job, nodes,
                     wanted_.name));
    watch_.emplace(loop_, link_, wanted_.target.job, [this](const std::string&) { settled(); });
    watch_->begin();
    deadline_us_ = loop_.monotonic_us() +
                   std::chrono::duration_cast<std::chrono::microseconds>(wanted_.patience).count();
    ask_app();
  }

  // No attempt of it goes on: it has ended, or waits again.
  void settled() {
    loop_.post([this] {
      watch_.reset();
      app_timer_.cancel();
      phase_ = Phase::kWaiting;
      look_at_job();
    });
  }

  void ended(const json& job, const std::string& state) {
    const std::int64_t code = number_of(job, "exit_code");
    const std::string start_failure = text_of(job, "start_failure");
    std::string how = fmt::format("job {} has ended: {}", wanted_.target.job, state);
    if (served_) return fail(Error{ErrorKind::kConflict, "session_over", how, ""});
    if (state == "failed") how += fmt::format(", exit code {}", code);
    if (!start_failure.empty()) how += ": " + printable(start_failure);
    const bool is_missing = code == apps::kNoProgram && !wanted_.remedy.empty();
    if (is_missing) how += fmt::format("; {}", wanted_.remedy);
    fail_with_log(Error{ErrorKind::kInternal, "app_ended", how, ""});
  }

  // -- the app

  void ask_app() {
    if (phase_ != Phase::kStarting) return;
    wire::Request request;
    request.method = "GET";
    request.target = wanted_.health;
    app_->call(
        std::move(request),
        [this](const Result<wire::Response>& answer) {
          if (phase_ != Phase::kStarting) return;
          if (answer.ok() && answer->status < 500) return serve();
          if (loop_.monotonic_us() < deadline_us_) {
            app_timer_ = loop_.after(kLookAtApp, [this] { ask_app(); });
            return;
          }
          const std::string why =
              answer.ok() ? fmt::format("it answers with status {}", answer->status) : trouble_;
          fail_with_log(Error{
              ErrorKind::kTimeout, "app_silent",
              fmt::format("{} has not answered at {} within {} s{}{}; `dove logs {}` shows its "
                          "output, `dove cancel {}` ends it",
                          wanted_.name, wanted_.target.text(), wanted_.patience.count(),
                          why.empty() ? "" : ": ", why, wanted_.target.job, wanted_.target.job),
              ""});
        },
        kAppAnswers);
  }

  void serve() {
    phase_ = Phase::kServing;
    served_ = true;
    told_.clear();
    if (!proxy_url_.empty()) {
      say_line(fmt::format("{} of job {} is at {}", wanted_.name, wanted_.target.job,
                           printable(proxy_url_)));
      return loop_.stop();
    }
    say_line(fmt::format("{} of job {} is at {}", wanted_.name, wanted_.target.job, url()));
    say_line("Ctrl-C stops forwarding" +
             std::string(wanted_.cancels ? " and cancels the job" : "; the job goes on"));
  }

  void complain(const Error& error) {
    trouble_ = error.message;
    if (phase_ != Phase::kServing && error.code != "not_yours") return;
    if (said_.insert(error.message).second) say(error.message);
  }

  // -- ends

  void interrupted(int number) {
    code_ = 128 + number;
    const std::string& job = wanted_.target.job;
    if (!wanted_.cancels && (!wanted_.is_new || phase_ != Phase::kWaiting || served_)) {
      say(fmt::format("job {} goes on: `dove open {}` leads to it again, `dove cancel {}` ends it",
                      job, job, job));
      return loop_.stop();
    }
    if (cancelling_) return loop_.stop();  // who is in a hurry
    cancelling_ = true;
    timer_.cancel();
    wire::Request request = link_.request(job_target(job, "/cancel"));
    request.method = "POST";
    api_.call(std::move(request), [this, job](const Result<wire::Response>& answer) {
      const bool done = answer.ok() && answer->status < 300;
      say(done ? fmt::format("job {} is cancelled", job)
               : fmt::format("job {} could not be cancelled; `dove cancel {}` tries again", job,
                             job));
      loop_.stop();
    });
  }

  void fail(const Error& error) {
    if (cancelling_) return;
    failure_ = error;
    loop_.stop();
  }

  // With what it said last, on standard error or else on standard output.
  void fail_with_log(Error error, bool is_stderr = true) {
    phase_ = Phase::kWaiting;
    app_timer_.cancel();
    const std::string query =
        is_stderr ? "/logs?tail=20&stream=stderr" : "/logs?tail=20&stream=stdout";
    api_.call(link_.request(job_target(wanted_.target.job, query)),
              [this, error = std::move(error), is_stderr](const Result<wire::Response>& answer) {
                const bool has = answer.ok() && answer->status == 200 && !answer->body.empty();
                if (!has && is_stderr) return fail_with_log(error, false);
                Error with_log = error;
                if (has) with_log.message += "; it said last:" + indented(answer->body);
                fail(with_log);
              });
  }

  wire::Loop loop_;
  const TaskLink link_;
  const SessionWanted wanted_;
  wire::AsyncClient api_;
  ForwardClient forward_;
  std::optional<wire::AsyncClient> app_;
  std::optional<JobWatch> watch_;
  std::uint16_t port_ = 0;
  Phase phase_ = Phase::kWaiting;
  bool served_ = false;
  bool cancelling_ = false;
  int troubles_ = 0;
  std::int64_t deadline_us_ = 0;
  std::string proxy_url_;  // "": there is none
  std::string told_;
  std::string trouble_;  // the latest of a connection to the app
  std::set<std::string> said_;
  wire::Timer timer_;
  wire::Timer app_timer_;
  int code_ = kExitOk;
  std::optional<Error> failure_;
};

}  // namespace

Result<int> serve_session(const Endpoint& endpoint, const SessionWanted& wanted) {
  TRY_ASSIGN(const TaskLink link, TaskLink::find(endpoint));
  return Session(link, wanted).run();
}

}  // namespace dove::cli
