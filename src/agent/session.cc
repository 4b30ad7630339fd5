// The agent's way to its controller: join, sync, the orders stream, reports, and the lease.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "codec/json.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kProtocol = 1;

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

Json placement_state(const HeldAttempt& held) {
  Json out{{"job", held.order().key.job.value},
           {"attempt", held.order().key.attempt},
           {"stage", stage_text(held.stage())}};
  Json exits = Json::array();
  for (const TaskExit& exit : held.exits()) exits.push_back(codec::task_exit_json(exit));
  if (!exits.empty()) out["exits"] = std::move(exits);
  if (held.stage() == HeldAttempt::Stage::kEnded) {
    out["cpu_us"] = held.last_report().cpu_us;
    out["memory_peak_bytes"] = held.last_report().memory_peak_bytes;
    if (held.last_report().kind == ReportKind::kLaunchFailed) {
      out["launch_failed"] = held.last_report().why;
    }
  }
  return out;
}

// Atomically, readable by the owner alone.
bool keep_secret(const std::string& path, const std::string& secret) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool whole = write(fd, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size());
  const bool synced = fsync(fd) == 0;
  close(fd);
  return whole && synced && rename(fresh.c_str(), path.c_str()) == 0;
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
  client_.call(std::move(message), [this](Result<wire::Response> answer) {
    if (!answer.ok()) return connect_failed(answer.error());
    Result<Json> joined = codec::parse_json(answer->body, std::size_t{1} << 20);
    if (answer->status / 100 != 2 || !joined.ok()) {
      return connect_failed(Error{
          wire::kind_of_status(answer->status), "join_refused",
          joined.ok() ? joined->value("detail", "the controller refused") : joined.error().message,
          ""});
    }
    agent_token_ = joined->value("agent_token", "");
    if (!keep_secret(options_.data_dir + "/agent_token", agent_token_)) {
      telemetry::log(telemetry::Level::kError, "cannot_keep_token", {{"node", options_.name}});
    }
    sync();
  });
}

void Agent::sync() {
  Json placements = Json::array();
  for (const auto& [key, held] : held_) placements.push_back(placement_state(*held));
  const Json body{{"protocol", kProtocol},
                  {"boot_id", options_.boot_id},
                  {"address", options_.address},
                  {"agent_pid", getpid()},
                  {"version", options_.version},
                  {"epoch_seen", contact_->epoch()},
                  {"log_head_seen", contact_->log_head()},
                  {"inventory", codec::inventory_json(inventory_)},
                  {"placements", std::move(placements)},
                  {"steps", Json::array()}};
  client_.call(
      request("POST", fmt::format("/v1/agents/{}/sync", options_.name), codec::dump_json(body)),
      [this](Result<wire::Response> answer) {
        if (!answer.ok()) return connect_failed(answer.error());
        Result<Json> message = codec::parse_json(answer->body, std::size_t{64} << 20);
        if (answer->status != 200 || !message.ok()) {
          return connect_failed(Error{wire::kind_of_status(answer->status), "sync_refused",
                                      message.ok()
                                          ? message->value("detail", "the controller refused")
                                          : message.error().message,
                                      ""});
        }
        synced(*message);
      });
}

void Agent::synced(const Json& answer) {
  if (answer.value("epoch", std::uint64_t{0}) < contact_->epoch()) {
    return connect_failed(Error{ErrorKind::kConflict, "older_epoch",
                                "this controller was replaced by a newer one", ""});
  }
  fence_us_ = answer.value("fence_us", fence_us_);
  disconnect_grace_us_ = answer.value("disconnect_grace_us", disconnect_grace_us_);
  heartbeat_us_ = answer.value("heartbeat_us", heartbeat_us_);
  session_ = answer.value("session", "");
  failures_ = 0;
  refused_.reset();
  broken_ = false;
  renewing_ = true;
  in_flight_ = 0;
  report_number_ = 0;
  applied_ = answer.value("after", std::uint64_t{0});
  hear(answer);
  renew();
  telemetry::log(telemetry::Level::kInfo, "connected",
                 {{"node", options_.name}, {"attempts", held_.size()}});
  open_orders(applied_);
  if (answer.contains("forget")) forget(answer.at("forget"));
  for (const Json& order : answer.value("orders", Json::array())) {
    on_order(order, codec::dump_json(order));
  }
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
    if (!session_.empty()) on_line(line);
  };
  callbacks.on_closed = [this](Error error) { lost_session(error); };
  orders_ = client_.open_stream(request("GET",
                                        fmt::format("/v1/agents/{}/orders?session={}&after={}",
                                                    options_.name, session_, after),
                                        ""),
                                std::move(callbacks));
}

void Agent::lost_session(const Error& error) {
  if (session_.empty()) return;
  telemetry::log(telemetry::Level::kWarning, "disconnected",
                 {{"node", options_.name}, {"why", error.message}});
  session_.clear();
  orders_.reset();
  relays_->clear();
  heartbeat_timer_.cancel();
  in_flight_ = 0;
  broken_ = error.code == "connection_broken" || error.code == "stream_ended";
  contact_->heard(telemetry::monotonic_us(), 0, 0);
  reconnect_timer_ =
      loop_.after(std::chrono::microseconds(jitter_.below(100'000)), [this] { connect(); });
}

// A controller that answers but refuses, or that cannot be reached after the connection was
// closed from outside, may count on the fence: then the lease is left to run out. A refused
// connection means that the controller's process is down, and its nodes will be given a fresh
// grace.
void Agent::connect_failed(const Error& error) {
  ++failures_;
  if (error.kind != ErrorKind::kUnavailable && error.kind != ErrorKind::kTimeout) {
    renewing_ = false;
    refused_ = error;
    telemetry::log(telemetry::Level::kError, "refused_by_controller",
                   {{"node", options_.name}, {"why", error.message}});
  } else if (broken_ && error.kind == ErrorKind::kTimeout) {
    renewing_ = false;
  }
  const std::int64_t wait_us = std::min<std::int64_t>(50'000LL << std::min(failures_, 4), 700'000);
  const auto jitter_us =
      static_cast<std::int64_t>(jitter_.below(static_cast<std::uint64_t>(wait_us / 2)));
  reconnect_timer_ =
      loop_.after(std::chrono::microseconds(wait_us + jitter_us), [this] { connect(); });
}

void Agent::hear(const Json& message) {
  const std::uint64_t head =
      message.value("log_head", message.value("ping", message.value("seq", std::uint64_t{0})));
  contact_->heard(telemetry::monotonic_us(), message.value("epoch", std::uint64_t{0}), head);
}

void Agent::report(Report said) {
  if (said.kind == ReportKind::kStepEnded) {
    // The step's client hears of the end after its output.
    const std::string id = fmt::format("{}.{}", said.key.text(), said.step);
    if (const auto found = step_relays_.find(id); found != step_relays_.end()) {
      const std::string relay = found->second;
      step_relays_.erase(found);
      relays_->when_drained(relay, [this, said] {
        reports_.push_back(codec::dump_json(report_json(said)));
        flush_reports();
      });
      return;
    }
  }
  reports_.push_back(codec::dump_json(report_json(said)));
  if (flush_posted_) return;
  flush_posted_ = true;
  // Reports of one turn of the loop travel together.
  flush_timer_ = loop_.after(std::chrono::microseconds(0), [this] {
    flush_posted_ = false;
    flush_reports();
  });
}

void Agent::flush_reports() {
  constexpr std::size_t kBatch = 512;
  if (session_.empty() || in_flight_ != 0 || reports_.empty()) return;
  in_flight_ = std::min(reports_.size(), kBatch);
  send_report();
}

void Agent::send_report() {
  std::string body =
      fmt::format(R"({{"session":"{}","report":{},"applied":{},"epoch_seen":{},"log_head_seen":{},)"
                  R"("placements_hash":"{:016x}","events":[)",
                  session_, ++report_number_, applied_, contact_->epoch(), contact_->log_head(),
                  placements_hash());
  for (std::size_t i = 0; i < in_flight_; ++i) {
    if (i > 0) body += ',';
    body += reports_[i];
  }
  body += "]}";
  reported_since_beat_ = true;
  const std::string session = session_;
  const std::size_t count = in_flight_;
  client_.call(
      request("POST", fmt::format("/v1/agents/{}/report", options_.name), std::move(body)),
      [this, session, count](Result<wire::Response> answer) {
        if (session == session_) reported(count, std::move(answer));
      },
      std::chrono::seconds(10));
}

void Agent::reported(std::size_t count, Result<wire::Response> answer) {
  if (count > 0) in_flight_ = 0;
  if (!answer.ok()) return lost_session(answer.error());
  Result<Json> message = codec::parse_json(answer->body, std::size_t{1} << 20);
  if (answer->status != 200 || !message.ok()) {
    return lost_session(Error{wire::kind_of_status(answer->status), "report_refused",
                              fmt::format("the controller answered {} to a report", answer->status),
                              ""});
  }
  reports_.erase(reports_.begin(), reports_.begin() + static_cast<std::ptrdiff_t>(count));
  hear(*message);
  if (message->value("resync", false)) {
    return lost_session(Error{ErrorKind::kConflict, "resync", "the controller asks to sync", ""});
  }
  flush_reports();
}

void Agent::heartbeat() {
  heartbeat_timer_ = loop_.after(std::chrono::microseconds(heartbeat_us_), [this] { heartbeat(); });
  const bool quiet = !reported_since_beat_;
  reported_since_beat_ = false;
  if (quiet && in_flight_ == 0 && !session_.empty()) send_report();
}

// Tasks live on as long as the controller can count on it (invariant 5).
void Agent::renew() {
  lease_timer_ = loop_.after(std::chrono::microseconds(fence_us_ / 4), [this] { renew(); });
  if (!options_.renew_lease || !renewing_) return;
  const std::int64_t now_us = telemetry::monotonic_us();
  const bool in_grace = now_us - contact_->heard_at_us() < disconnect_grace_us_;
  if (!session_.empty() || in_grace) options_.renew_lease(now_us + fence_us_);
}

}  // namespace dove::agent
