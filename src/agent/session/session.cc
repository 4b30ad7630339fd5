// The agent's way to its controller: join, sync, the orders stream, reports, and the lease.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "codec/json.h"
#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kProtocol = 1;
constexpr std::size_t kReportsAtATime = 512;
constexpr std::chrono::seconds kReportTimeout{10};
constexpr std::int64_t kReportAgain_us = 500'000;
constexpr std::chrono::milliseconds kStartedWait{10};
constexpr std::int64_t kFenceMin_us = 10'000;
constexpr std::int64_t kBeatsUnderWay = 4;

const char* stage_text(HeldAttempt::Stage stage) {
  switch (stage) {
    case HeldAttempt::Stage::kPreparing:
    case HeldAttempt::Stage::kPrepared:
      return "prepared";
    case HeldAttempt::Stage::kStarted:
      return "started";
    case HeldAttempt::Stage::kEnded:
      return "ended";
  }
  return "";
}

Json placement_state(const HeldAttempt& held, std::int64_t now_us) {
  Json out{{"job", held.order().key.job.value},
           {"attempt", held.order().key.attempt},
           {"stage", stage_text(held.stage())}};
  Json exits = Json::array();
  for (const TaskExit& exit : held.exits()) exits.push_back(codec::task_exit_json(exit));
  if (!exits.empty()) out["exits"] = std::move(exits);
  if (held.started_us() != 0) out["started_ago_us"] = started_ago_us(held.started_us(), now_us);
  if (held.stage() == HeldAttempt::Stage::kEnded) {
    out["cpu_us"] = held.last_report().cpu_us;
    out["memory_peak_bytes"] = held.last_report().memory_peak_bytes;
    if (held.last_report().kind == ReportKind::kLaunchFailed) {
      out["launch_failed"] = held.last_report().why;
    }
  }
  return out;
}

Error malformed(const std::string& what) {
  return Error{ErrorKind::kInvalid, "malformed_answer",
               fmt::format("the controller's answer cannot be read: {}; compare `dove version` on "
                           "both machines",
                           what),
               ""};
}

// The answer's JSON object; an empty one if it is none.
Json object_of(const wire::Response& answer) {
  Result<Json> body = codec::parse_json(answer.body, std::size_t{64} << 20);
  return body.ok() && body->is_object() ? std::move(body).value() : Json::object();
}

// Names of directories begin with it: hexadecimal digits, or nothing.
std::string cluster_id_of(const Json& answer) {
  const std::string id = answer.value("cluster_id", "");
  return id.size() <= 64 && id.find_first_not_of("0123456789abcdef") == id.npos ? id : "";
}

std::string text_of(const Json& object, const char* name) {
  const Json value = object.value(name, Json());
  return value.is_string() ? value.get<std::string>() : "";
}

// The controller lives and cannot write; not what somebody between says for it.
bool says_full(const wire::Response& answer, const Json& body) {
  return answer.status == 503 && text_of(body, "code") == "disk_full";
}

Error refusal(const wire::Response& answer, const Json& body, const char* code) {
  const std::string detail = text_of(body, "detail");
  return Error{wire::kind_of_status(answer.status), code,
               fmt::format("the controller answered {}: {}", answer.status,
                           detail.empty() ? "no reason given" : detail),
               ""};
}

// The join token is used up: this one must still be there after a power cut.
bool keep_secret(const std::string& path, const std::string& secret) {
  return files::write_atomically(path, secret, 0600, files::Survives::kPowerCut).ok();
}

}  // namespace

wire::Request Agent::request(std::string method, std::string target, std::string body) const {
  wire::Request out;
  out.method = std::move(method);
  out.target = std::move(target);
  out.headers = {{"Authorization", "Bearer " + agent_token_}, {"Content-Type", "application/json"}};
  out.body = std::move(body);
  return out;
}

void Agent::connect() {
  if (stopped_) return;
  if (agent_token_.empty()) {
    join();
  } else {
    sync();
  }
}

void Agent::join() {
  const Json body{{"protocol", kProtocol},
                  {"name", options_.name},
                  {"boot_id", options_.boot_id},
                  {"address", options_.address},
                  {"version", options_.version},
                  {"inventory", codec::inventory_json(inventory_)},
                  {"log_head_seen", contact_->log_head()}};
  wire::Request message = request("POST", "/v1/agents/join", codec::dump_json(body));
  message.headers.front().second = "Bearer " + options_.join_token;
  client_.call(std::move(message), [this](Result<wire::Response> answer) { joined(answer); });
}

void Agent::joined(const Result<wire::Response>& answer) {
  if (!answer.ok()) return connect_failed(answer.error());
  const Json message = object_of(*answer);
  if (answer->status / 100 != 2) {
    const Error refused = refusal(*answer, message, "join_refused");
    if (answer->status == 401 && options_.join_refused) return options_.join_refused(refused);
    return connect_failed(refused);
  }
  agent_token_ = text_of(message, "agent_token");
  if (agent_token_.empty()) {
    return connect_failed(malformed("its answer to the join has no agent_token"));
  }
  if (!keep_secret(options_.data_dir + "/agent_token", agent_token_)) {
    telemetry::log(telemetry::Level::kError, "cannot_keep_token", {{"node", options_.name}});
  }
  connect();
}

void Agent::sync() {
  Json placements = Json::array();
  Json steps = Json::array();
  for (const auto& [key, held] : held_) {
    placements.push_back(placement_state(*held, loop_.wall_us()));
    for (const std::int32_t step : held->steps()) {
      steps.push_back(Json{{"job", key.job.value}, {"attempt", key.attempt}, {"step", step}});
    }
  }
  const Json body{{"protocol", kProtocol},
                  {"ticket", ticket_},
                  {"boot_id", options_.boot_id},
                  {"address", options_.address},
                  {"agent_pid", getpid()},
                  {"version", options_.version},
                  {"preflight_port", hub_ == nullptr ? 0 : hub_->port()},
                  {"not_enforced", not_enforced_},
                  {"epoch_seen", contact_->epoch()},
                  {"log_head_seen", contact_->log_head()},
                  {"placements", std::move(placements)},
                  {"steps", std::move(steps)}};
  std::string text = codec::dump_json(body);
  text.back() = ',';
  text += "\"inventory\":" + inventory_text() + '}';
  inventory_synced_ = inventory_version_;
  const std::int64_t sent_us = loop_.monotonic_us();
  client_.call(request("POST", fmt::format("/v1/agents/{}/sync", options_.name), std::move(text)),
               [this, sent_us](Result<wire::Response> answer) { sync_answered(answer, sent_us); });
}

void Agent::sync_answered(const Result<wire::Response>& answer, std::int64_t sent_us) {
  if (stopped_) return;
  if (!answer.ok()) return connect_failed(answer.error());
  const Json message = object_of(*answer);
  if (says_full(*answer, message)) return controller_full(sent_us);
  if (answer->status != 200) return connect_failed(refusal(*answer, message, "sync_refused"));
  const bool had_ticket = !ticket_.empty();
  ticket_ = text_of(message, "ticket");
  if (!ticket_.empty() && !had_ticket) return sync();
  if (!ticket_.empty()) {  // ours was given to somebody since; it came too late
    reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
    return;
  }
  try {
    if (message.at("epoch").get<std::uint64_t>() < contact_->epoch()) {
      return connect_failed(Error{ErrorKind::kConflict, "older_epoch",
                                  "this controller was replaced by a newer one", ""});
    }
    fence_us_ = std::max<std::int64_t>(message.value("fence_us", fence_us_), kFenceMin_us);
    disconnect_grace_us_ = message.value("disconnect_grace_us", disconnect_grace_us_);
    heartbeat_us_ = std::max<std::int64_t>(message.value("heartbeat_us", heartbeat_us_), 1'000);
    session_ = message.at("session").get<std::string>();
    facts_.cluster_id = cluster_id_of(message);
    applied_ = message.at("after").get<std::uint64_t>();
    contact_->agreed(fence_us_, disconnect_grace_us_);
    contact_->heard(sent_us);
    synced(message);
  } catch (const Json::exception& e) {
    const Error error = malformed(e.what());
    if (session_.empty()) return connect_failed(error);
    ++failures_;
    lost_session(error);
  }
}

void Agent::synced(const Json& answer) {
  ++session_number_;
  silent_orders_.reset();
  refused_.reset();
  broken_ = false;
  counted_on_ = true;
  in_flight_ = false;
  report_number_ = 0;
  inventory_told_ = inventory_synced_;
  see(answer);
  renew();
  telemetry::log(telemetry::Level::kInfo, "connected",
                 {{"node", options_.name}, {"attempts", held_.size()}});
  open_orders(applied_);
  if (answer.contains("forget")) forget(answer.at("forget"));
  for (const Json& order : answer.value("orders", Json::array())) {
    on_order(order, codec::dump_json(order));
  }
  // The ledger still wants what it did not stop.
  for (const auto& [key, held] : held_) {
    if (held->was_interrupted()) held->start();
    if (held->stage() == HeldAttempt::Stage::kStarted) tell_shares(*held);
    if (held->stage() == HeldAttempt::Stage::kStarted) tell_warnings(*held);
  }
  if (progress_ != nullptr) progress_->repeat();
  flush_reports();
  heartbeat();
}

void Agent::open_orders(std::uint64_t after) {
  wire::StreamCallbacks callbacks;
  callbacks.on_open = [this](int status) {
    if (status != 200) {
      lost_session(Error{wire::kind_of_status(status), "orders_refused",
                         fmt::format("the controller answered {} to the orders stream", status),
                         ""});
    }
  };
  callbacks.on_line = [this](std::string_view line) {
    orders_heard_us_ = loop_.monotonic_us();
    if (!session_.empty()) on_line(line);
  };
  callbacks.on_closed = [this](Error error) { orders_closed(error); };
  orders_heard_us_ = loop_.monotonic_us();
  watch_silence();
  orders_ = client_.open_stream(request("GET",
                                        fmt::format("/v1/agents/{}/orders?session={}&after={}",
                                                    options_.name, session_, after),
                                        ""),
                                std::move(callbacks));
}

void Agent::watch_silence() {
  const std::int64_t left_us = orders_heard_us_ + options_.stream_silence_us - loop_.monotonic_us();
  if (left_us <= 0) {
    return lost_session(
        Error{ErrorKind::kTimeout, "timeout", "nothing came from the controller for too long", ""});
  }
  silence_timer_ = loop_.after(std::chrono::microseconds(left_us), [this] { watch_silence(); });
}

// Of a former session, kept open in silence: what breaks it now may be a break for the controller
// too. When the controller itself ends it, it took our silence for what it was.
void Agent::orders_closed(const Error& error) {
  if (!session_.empty()) return lost_session(error);
  if (error.code == "stream_ended") return;
  broken_ = true;
  counted_on_ = false;
}

// Unless it was mere silence, the controller may count on the fence from now on: the lease is not
// renewed until we know better.
void Agent::lost_session(const Error& error) {
  if (session_.empty()) return;
  telemetry::log(telemetry::Level::kWarning, "disconnected",
                 {{"node", options_.name}, {"why", error.message}});
  session_.clear();
  ++session_number_;
  relays_->clear();
  heartbeat_timer_.cancel();
  silence_timer_.cancel();
  in_flight_ = false;
  broken_ = error.kind != ErrorKind::kTimeout;
  // To close it in silence would be a break to a controller that hears of it.
  if (!broken_) silent_orders_ = std::move(orders_);
  orders_.reset();
  if (broken_) counted_on_ = false;
  reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
}

// A controller that answers but refuses counts on the fence, and so may one that cannot be reached
// after the connection was closed from outside: then the lease is left to run out. A refused
// connection means that the controller's process is down, and its successor gives its nodes a fresh
// grace.
void Agent::connect_failed(const Error& error) {
  ticket_.clear();
  ++failures_;
  if (error.kind != ErrorKind::kUnavailable && error.kind != ErrorKind::kTimeout) {
    counted_on_ = false;
    const bool is_news = !refused_.has_value() || refused_->message != error.message;
    refused_ = error;
    if (is_news) {
      telemetry::log(telemetry::Level::kError, "refused_by_controller",
                     {{"node", options_.name}, {"why", error.message}});
    }
  } else if (error.code == "connection_refused") {
    refused_.reset();
    broken_ = false;
    counted_on_ = true;
    renew();
  } else if (broken_) {
    counted_on_ = false;
  }
  reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
}

// It lives, decides nothing while it cannot write, and gives this node a grace anew before it
// decides again.
void Agent::controller_full(std::int64_t sent_us) {
  ++failures_;
  refused_.reset();
  broken_ = false;
  counted_on_ = true;
  contact_->heard(sent_us);
  renew();
  reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
}

// At once but for a jitter after a session that worked; within a second while there is nobody;
// slower where the answer will hardly change.
std::int64_t Agent::backoff_us() {
  const std::int64_t most_us = refused_.has_value() ? 5'000'000 : 700'000;
  const std::int64_t wait_us =
      failures_ == 0 ? 0 : std::min<std::int64_t>(50'000LL << std::min(failures_, 8), most_us);
  const std::int64_t jitter_us = std::max<std::int64_t>(wait_us / 2, 100'000);
  return wait_us + static_cast<std::int64_t>(jitter_.below(static_cast<std::uint64_t>(jitter_us)));
}

void Agent::see(const Json& message) {
  const std::uint64_t head =
      message.value("log_head", message.value("ping", message.value("seq", std::uint64_t{0})));
  contact_->saw(message.value("epoch", std::uint64_t{0}), head);
}

void Agent::report(Report said) {
  if (said.kind == ReportKind::kStepEnded) {
    // The step's client hears of the end after its output.
    const std::string id = fmt::format("{}.{}", said.key.text(), said.step);
    if (const auto found = step_relays_.find(id); found != step_relays_.end()) {
      const std::string relay = found->second;
      step_relays_.erase(found);
      relays_->when_drained(relay, [this, said] {
        // Who comes back to the step asks for it again (HeldAttempt::attach_step).
        if (session_.empty()) return;
        reports_.push_back(codec::dump_json(report_json(said, loop_.wall_us())));
        flush_reports();
      });
      return;
    }
  }
  if (const auto held = held_.find(said.key);
      said.kind == ReportKind::kStarted && held != held_.end()) {
    tell_shares(*held->second);
    tell_warnings(*held->second);
  }
  reports_.push_back(codec::dump_json(report_json(said, loop_.wall_us())));
  if (said.kind == ReportKind::kStarted) {
    // A task that ends at once tells both together: each report costs the controller a write.
    if (started_timer_.pending()) return;
    started_timer_ = loop_.after(kStartedWait, [this] { post_flush(0); });
  } else {
    post_flush(0);  // reports of one turn of the loop travel together
  }
}

void Agent::tell_shares(const HeldAttempt& held) {
  if (held.shares().empty() || session_.empty()) return;
  const AttemptKey key = held.order().key;
  reports_.push_back(codec::dump_json(Json{{"kind", "shares"},
                                           {"job", key.job.value},
                                           {"attempt", key.attempt},
                                           {"keeper", held.shares()}}));
}

void Agent::post_flush(std::int64_t wait_us) {
  if (flush_posted_) return;
  flush_posted_ = true;
  flush_timer_ = loop_.after(std::chrono::microseconds(wait_us), [this] {
    flush_posted_ = false;
    flush_reports();
  });
}

void Agent::flush_reports() {
  const bool has_news = !reports_.empty() || inventory_told_ != inventory_version_;
  if (session_.empty() || in_flight_ || !has_news) return;
  send_report();
}

void Agent::send_report() {
  std::string body =
      fmt::format(R"({{"session":"{}","report":{},"applied":{},"epoch_seen":{},"log_head_seen":{},)"
                  R"("placements_hash":"{:016x}",)",
                  session_, ++report_number_, applied_, contact_->epoch(), contact_->log_head(),
                  placements_hash());
  const std::uint64_t version = inventory_version_;
  if (inventory_told_ != version) {
    body += "\"inventory\":" + inventory_text() + ',';
    body += "\"not_enforced\":" + codec::dump_json(Json(not_enforced_)) + ',';
  }
  body += "\"events\":[";
  const std::size_t count = std::min(reports_.size(), kReportsAtATime);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) body += ',';
    body += reports_[i];
  }
  body += "]}";
  in_flight_ = true;
  reported_since_beat_ = true;
  const std::int64_t sent_us = loop_.monotonic_us();
  client_.call(
      request("POST", fmt::format("/v1/agents/{}/report", options_.name), std::move(body)),
      [this, count, version, sent_us, mine = session_number_](Result<wire::Response> answer) {
        if (mine == session_number_) reported(count, version, sent_us, answer);
      },
      kReportTimeout);
}

void Agent::reported(std::size_t count, std::uint64_t inventory_version, std::int64_t sent_us,
                     const Result<wire::Response>& answer) {
  in_flight_ = false;
  if (!answer.ok()) return lost_session(answer.error());
  const Json message = object_of(*answer);
  if (says_full(*answer, message)) {  // it is there but cannot write now: say it again soon
    contact_->heard(sent_us);
    return post_flush(kReportAgain_us);
  }
  if (answer->status != 200) {
    ++failures_;
    return lost_session(refusal(*answer, message, "report_refused"));
  }
  failures_ = 0;
  inventory_told_ = inventory_version;
  reports_.erase(reports_.begin(), reports_.begin() + static_cast<std::ptrdiff_t>(count));
  contact_->heard(sent_us);
  bool resync = false;
  try {
    see(message);
    resync = message.value("resync", false);
    compare_clocks(sent_us, message.value("now_us", std::int64_t{0}));
  } catch (const Json::exception& e) {
    return lost_session(malformed(e.what()));
  }
  if (resync) {
    return lost_session(Error{ErrorKind::kConflict, "resync", "the controller asks to sync", ""});
  }
  flush_reports();
}

void Agent::compare_clocks(std::int64_t sent_us, std::int64_t controller_us) {
  if (controller_us == 0 || loop_.world() != nullptr) return;
  std::optional<Finding> finding =
      clock_.heard({sent_us, loop_.monotonic_us(), loop_.wall_us(), controller_us});
  if (finding) found(std::move(*finding));
}

void Agent::heartbeat() {
  heartbeat_timer_ = loop_.after(std::chrono::microseconds(heartbeat_us_), [this] { heartbeat(); });
  if (!reported_since_beat_ && !in_flight_ && !session_.empty()) send_report();
  reported_since_beat_ = false;
}

// Tasks live on as long as the controller can count on it (invariant 5). It counts from the last
// message that it answered, which it had after we sent it; in a session some may be on their way.
void Agent::renew() {
  lease_timer_ = loop_.after(std::chrono::microseconds(fence_us_ / 4), [this] { renew(); });
  if (!options_.renew_lease || !counted_on_ || contact_->heard_at_us() == 0) return;
  const std::int64_t now_us = loop_.monotonic_us();
  const std::int64_t quiet_us = now_us - contact_->heard_at_us();
  const std::int64_t most_us =
      disconnect_grace_us_ + (session_.empty() ? 0 : kBeatsUnderWay * heartbeat_us_);
  if (quiet_us >= 0 && quiet_us < most_us) options_.renew_lease(now_us + fence_us_);
}

}  // namespace dove::agent
