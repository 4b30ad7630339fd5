#include "proxy/api.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "telemetry/log.h"

namespace dove::proxy {
namespace {

using nlohmann::json;

constexpr std::size_t kAnswerMax = 1 << 20;
constexpr std::chrono::seconds kAnswers{10};
constexpr std::chrono::seconds kLookEvery{5};
constexpr int kLines = 20;
constexpr std::size_t kTradesMax = 64;

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t number_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

bool flag_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

Result<json> object_of(const Result<wire::Response>& answer) {
  if (!answer.ok()) return answer.error();
  if (answer->status >= 300) return error_of_problem(answer->status, answer->body);
  TRY_ASSIGN(json said, codec::parse_json(answer->body, kAnswerMax));
  if (said.is_object()) return said;
  return Error{ErrorKind::kInternal, "bad_answer", "the server's answer is no object", ""};
}

SessionView view_of(const json& said) {
  SessionView view;
  view.job = static_cast<std::uint64_t>(number_of(said, "job"));
  view.app = text_of(said, "app");
  view.name = text_of(said, "name");
  view.phase = text_of(said, "phase");
  view.state = text_of(said, "state");
  view.why = text_of(said, "text");
  view.promised_start = text_of(said, "promised_start");
  if (const std::string failure = text_of(said, "start_failure"); !failure.empty()) {
    view.why = failure;
  }
  const std::int64_t began_us = number_of(said, "started_at_us");
  if (view.state == "running" && began_us > 0) {
    view.runs_for_us = std::max<std::int64_t>(number_of(said, "now_us") - began_us, 0);
  }
  view.may_read = flag_of(said, "may_read");
  return view;
}

wire::AsyncClientOptions options() {
  wire::AsyncClientOptions options;
  options.response_bytes_max = kAnswerMax;
  return options;
}

}  // namespace

Api::Api(wire::Loop& loop, wire::ControllersPtr controllers)
    : loop_(loop),
      controllers_(std::move(controllers)),
      trades_(loop, controllers_, options()),
      calls_(loop, controllers_, options()),
      logs_(loop, controllers_, options()),
      looks_(loop, controllers_, options()) {
  if (controllers_->has_several()) look_for_leader();
}

void Api::look_for_leader() {
  looks_.call(
      request("GET", "/readyz", ""),
      [this](const Result<wire::Response>&) {
        look_timer_ = loop_.after(kLookEvery, [this] { look_for_leader(); });
      },
      kAnswers);
}

wire::Request Api::request(const char* method, const std::string& target,
                           const std::string& token) const {
  wire::Request request;
  request.method = method;
  request.target = target;
  if (!token.empty()) request.headers = {{"Authorization", "Bearer " + token}};
  return request;
}

void Api::trade(const std::string& code, const std::string& nonce, const std::string& origin,
                std::function<void(Result<Entry>)> done) {
  if (trading_ >= kTradesMax) {
    return loop_.post([done = std::move(done)] {
      done(Error{ErrorKind::kUnavailable, "too_many_entries",
                 "very many browsers are asking to be let in; try again in a moment", ""});
    });
  }
  ++trading_;
  wire::Request asked = request("POST", "/v1/entries", "");
  asked.headers.emplace_back("Content-Type", "application/json");
  asked.body = codec::dump_json(json{{"code", code}, {"nonce", nonce}, {"origin", origin}});
  trades_.call(
      std::move(asked),
      [this, done = std::move(done)](const Result<wire::Response>& answer) {
        --trading_;
        const Result<json> said = object_of(answer);
        if (!said.ok()) return done(said.error());
        // By the time of the cluster; servers of a former version do not tell it.
        const std::int64_t told_us = number_of(*said, "now_us");
        const std::int64_t lasts_us =
            number_of(*said, "expires_at_us") - (told_us == 0 ? loop_.wall_us() : told_us);
        done(Entry{static_cast<std::uint64_t>(number_of(*said, "job")), text_of(*said, "token"),
                   text_of(*said, "user"), text_of(*said, "path"), loop_.monotonic_us() + lasts_us,
                   flag_of(*said, "app_tells_use")});
      },
      kAnswers);
}

void Api::look(std::uint64_t job, const std::string& token,
               std::function<void(Result<SessionView>)> done) {
  calls_.call(
      request("GET", fmt::format("/v1/jobs/{}/entry", job), token),
      [done = std::move(done)](const Result<wire::Response>& answer) {
        const Result<json> said = object_of(answer);
        if (!said.ok()) return done(said.error());
        done(view_of(*said));
      },
      kAnswers);
}

void Api::last_lines(std::uint64_t job, const std::string& token,
                     std::function<void(std::string)> done) {
  lines_of(job, token, true, [this, job, token, done = std::move(done)](std::string lines) {
    if (!lines.empty()) return done(std::move(lines));
    lines_of(job, token, false, done);
  });
}

void Api::lines_of(std::uint64_t job, const std::string& token, bool is_stderr,
                   std::function<void(std::string)> done) {
  logs_.call(
      request("GET",
              fmt::format("/v1/jobs/{}/logs?tail={}&stream={}", job, kLines,
                          is_stderr ? "stderr" : "stdout"),
              token),
      [done = std::move(done)](const Result<wire::Response>& answer) {
        done(answer.ok() && answer->status == 200 ? answer->body : std::string());
      },
      kAnswers);
}

void Api::note_input(std::uint64_t job, const std::string& token, std::int64_t ago_ms) {
  wire::Request said = request("POST", fmt::format("/v1/jobs/{}/activity", job), token);
  said.headers.emplace_back("Content-Type", "application/json");
  said.body = fmt::format(R"({{"input_ago_ms":{}}})", ago_ms);
  calls_.call(
      std::move(said),
      [job](const Result<wire::Response>& answer) {
        if (answer.ok() && answer->status < 300) return;
        telemetry::log(telemetry::Level::kDebug, "input_not_noted", {{"job", job}});
      },
      kAnswers);
}

AppLink::Open Api::link(std::uint64_t job, const std::string& token) {
  return [this, job, token](wire::WebSocketCallbacks callbacks) {
    return wire::connect_to_leader(
        loop_, controllers_, request("GET", fmt::format("/v1/jobs/{}/forward?app=1", job), token),
        std::move(callbacks));
  };
}

}  // namespace dove::proxy
