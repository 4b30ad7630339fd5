// The agent's way to its controller: join, sync, the orders stream, reports, and the lease.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "agent/attempts/remembered.h"
#include "agent/session/answer.h"
#include "codec/json.h"
#include "files/text_file.h"
#include "model/incarnation.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kReportsAtATime = 512;
constexpr std::chrono::seconds kReportTimeout{10};
constexpr std::int64_t kReportAgain_us = 500'000;
constexpr std::chrono::milliseconds kStartedWait{10};
constexpr std::int64_t kFenceMin_us = 10'000;
constexpr int kFailuresToAsk = 3;
constexpr std::size_t kEndsMax = 1000;  // that a restored log hears of again

protocol::HeldPlacement placement_of(const HeldAttempt& held) {
  protocol::HeldPlacement out;
  out.key = held.order().key;
  out.exits = held.exits();
  out.started_ago_us = held.started_ago_us();
  switch (held.stage()) {
    case HeldAttempt::Stage::kPreparing:
    case HeldAttempt::Stage::kPrepared:
      break;
    case HeldAttempt::Stage::kStarted:
      out.stage = protocol::HeldStage::kStarted;
      break;
    case HeldAttempt::Stage::kEnded:
      out.stage = protocol::HeldStage::kEnded;
      break;
  }
  if (const auto* ended = std::get_if<protocol::Ended>(&held.last_report())) {
    out.cpu_us = ended->cpu_us;
    out.memory_peak_bytes = ended->memory_peak_bytes;
  }
  if (const auto* refused = std::get_if<protocol::LaunchRefused>(&held.last_report())) {
    out.launch_failed = refused->why;
  }
  return out;
}

// Names of directories begin with it: hexadecimal digits, or nothing.
std::string directory_name(const std::string& id) {
  return id.size() <= 64 && id.find_first_not_of("0123456789abcdef") == id.npos ? id : "";
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
  if (agent_token_.empty()) return join();
  // Where agents call may have changed with the controller: those who do not get through ask again.
  const bool asks = uplink_.secure() && failures_ > 0 && failures_ % kFailuresToAsk == 0;
  if (asks || !uplink_.certified(loop_.wall_us() / 1'000'000)) {
    return certify();
  }
  sync();
}

protocol::Machine Agent::machine() const {
  return {options_.boot_id,     options_.address,    options_.version,
          options_.machine_id,  contact_->boot_id(), contact_->epoch(),
          contact_->log_head(), contact_->proof(),   inventory_};
}

void Agent::join() {
  protocol::Join join;
  join.name = options_.name;
  join.machine = machine();
  wire::Request message = request("POST", "/v1/agents/join", protocol::join_text(join));
  message.headers.front().second = "Bearer " + options_.join_token;
  uplink_.front().call(std::move(message),
                       [this](Result<wire::Response> answer) { joined(answer); });
}

void Agent::joined(const Result<wire::Response>& answer) {
  if (!answer.ok()) {
    // Whoever cannot be trusted now, with this join token, cannot be later.
    const bool final = is_distrust(answer.error()) && options_.join_refused;
    return final ? options_.join_refused(answer.error()) : connect_failed(answer.error());
  }
  const Json message = answer_object(*answer);
  if (answer->status / 100 != 2) {
    const Error refused = answer_refusal(*answer, message, "join_refused");
    if (answer->status == 401 && options_.join_refused) return options_.join_refused(refused);
    return connect_failed(refused);
  }
  Result<protocol::JoinAnswer> taken = protocol::read_join_answer(message);
  if (!taken.ok()) return connect_failed(taken.error());
  agent_token_ = std::move(taken->agent_token);
  if (!keep_secret(options_.data_dir + "/agent_token", agent_token_)) {
    telemetry::log(telemetry::Level::kError, "cannot_keep_token", {{"node", options_.name}});
  }
  connect();
}

void Agent::sync() {
  protocol::Sync sync;
  sync.ticket = ticket_;
  sync.agent_pid = getpid();
  sync.preflight_port = hub_ == nullptr ? 0 : hub_->port();
  sync.not_enforced = not_enforced_;
  if (options_.offer) sync.offer = offer_message(*options_.offer);
  sync.machine = machine();
  for (const auto& [key, held] : held_) {
    sync.placements.push_back(placement_of(*held));
    for (const std::int32_t step : held->steps()) {
      sync.steps.push_back({key.job, key.attempt, step});
    }
  }
  if (brings_ends_ && !ticket_.empty()) {
    for (auto& end : remembered_ends(options_.data_dir + "/finished", kEndsMax)) {
      if (!held_.contains(end.key)) sync.placements.push_back(std::move(end));
    }
  }
  inventory_synced_ = inventory_version_;
  const std::int64_t sent_us = loop_.monotonic_us();
  if (!ticket_.empty()) contact_->may_be_heard(sent_us);
  uplink_.begin_anew();
  uplink_.line().call(
      request("POST", fmt::format("/v1/agents/{}/sync", options_.name), protocol::sync_text(sync)),
      [this, sent_us](Result<wire::Response> answer) { sync_answered(answer, sent_us); });
}

void Agent::sync_answered(const Result<wire::Response>& answer, std::int64_t sent_us) {
  if (stopped_) return;
  if (!answer.ok()) return connect_failed(answer.error());
  const Json message = answer_object(*answer);
  if (says_full(*answer, message)) return controller_full(sent_us);
  if (answer->status != 200)
    return connect_failed(answer_refusal(*answer, message, "sync_refused"));
  const Result<protocol::SyncAnswer> read = protocol::read_sync_answer(message);
  if (!read.ok()) return connect_failed(read.error());
  const bool had_ticket = !ticket_.empty();
  ticket_ = read->ticket;
  brings_ends_ = is_former_incarnation(Epoch(contact_->epoch()), Epoch(read->epoch));
  if (!ticket_.empty() && !had_ticket) return sync();
  if (!ticket_.empty()) {  // ours was given to somebody since; it came too late
    reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
    return;
  }
  if (read->epoch < contact_->epoch()) {
    return connect_failed(Error{ErrorKind::kConflict, "older_epoch",
                                "this controller was replaced by a newer one", ""});
  }
  fence_us_ = std::max<std::int64_t>(read->fence_us, kFenceMin_us);
  disconnect_grace_us_ = read->disconnect_grace_us;
  heartbeat_us_ = std::max<std::int64_t>(read->heartbeat_us, 1'000);
  session_ = read->session;
  facts_.cluster_id = directory_name(read->cluster_id);
  applied_ = read->after;
  contact_->agreed(fence_us_, disconnect_grace_us_, read->outage_grace_us);
  contact_->heard(sent_us);
  contact_->lives_in(options_.boot_id);
  uplink_.leads_here();
  synced(*read);
}

void Agent::synced(const protocol::SyncAnswer& answer) {
  ++session_number_;
  silent_orders_.reset();
  refused_.reset();
  broken_ = false;
  counted_on_ = true;
  in_flight_ = false;
  report_number_ = 0;
  inventory_told_ = inventory_synced_;
  contact_->saw(answer.epoch, answer.log_head, answer.proof);
  renew();
  telemetry::log(telemetry::Level::kInfo, "connected",
                 {{"node", options_.name}, {"attempts", held_.size()}});
  open_orders(applied_);
  forget(answer.forget);
  for (const std::string& order : answer.orders) on_line(order);
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
      const bool is_elsewhere = status == 503 && uplink_.has_several();
      lost_session(
          Error{is_elsewhere ? ErrorKind::kTimeout : wire::kind_of_status(status), "orders_refused",
                fmt::format("the controller answered {} to the orders stream", status), ""});
    }
  };
  callbacks.on_line = [this](std::string_view line) {
    orders_heard_us_ = loop_.monotonic_us();
    if (!session_.empty()) on_line(line);
  };
  callbacks.on_closed = [this](Error error) { orders_closed(error); };
  orders_heard_us_ = loop_.monotonic_us();
  watch_silence();
  orders_ = uplink_.line().open_stream(
      request(
          "GET",
          fmt::format("/v1/agents/{}/orders?session={}&after={}", options_.name, session_, after),
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

void Agent::report(protocol::Report said) {
  const bool is_end = std::holds_alternative<protocol::Ended>(said) ||
                      std::holds_alternative<protocol::TaskOver>(said);
  if (is_end && progress_ != nullptr) {
    // Only gangs blame links. What ended may be of a former process of the agent's.
    const auto held = held_.find(*protocol::key_of(said));
    if (held != held_.end() && held->second->order().nodes.size() > 1) {
      progress_->last_words(held->first);
    }
  }
  if (const auto* over = std::get_if<protocol::StepOver>(&said)) {
    // The step's client hears of the end after its output.
    const std::string id = fmt::format("{}.{}", over->key.text(), over->step);
    if (const auto found = step_relays_.find(id); found != step_relays_.end()) {
      const std::string relay = found->second;
      step_relays_.erase(found);
      relays_->when_drained(relay, [this, said] {
        // Who comes back to the step asks for it again (HeldAttempt::attach_step).
        if (session_.empty()) return;
        reports_.push_back(said);
        flush_reports();
      });
      return;
    }
  }
  const auto* started = std::get_if<protocol::Started>(&said);
  if (started == nullptr) {
    reports_.push_back(std::move(said));
    return post_flush(0);  // reports of one turn of the loop travel together
  }
  if (const auto held = held_.find(started->key); held != held_.end()) {
    tell_shares(*held->second);
    tell_warnings(*held->second);
  }
  reports_.push_back(std::move(said));
  // A task that ends at once tells both together: each report costs the controller a write.
  if (started_timer_.pending()) return;
  started_timer_ = loop_.after(kStartedWait, [this] { post_flush(0); });
}

void Agent::tell_shares(const HeldAttempt& held) {
  if (held.shares().empty() || session_.empty()) return;
  reports_.emplace_back(protocol::Shares{held.order().key, held.shares()});
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
  protocol::ReportMessage message;
  message.session = session_;
  message.number = ++report_number_;
  message.applied = applied_;
  message.epoch_seen = contact_->epoch();
  message.log_head_seen = contact_->log_head();
  message.placements_hash = fmt::format("{:016x}", placements_hash());
  const std::uint64_t version = inventory_version_;
  if (inventory_told_ != version) {
    message.inventory = inventory_;
    message.not_enforced = not_enforced_;
    if (options_.offer) message.offer = offer_message(*options_.offer);
  }
  const std::size_t count = std::min(reports_.size(), kReportsAtATime);
  message.reports.assign(reports_.begin(), reports_.begin() + static_cast<std::ptrdiff_t>(count));
  in_flight_ = true;
  reported_since_beat_ = true;
  const std::int64_t sent_us = loop_.monotonic_us();
  uplink_.line().call(
      request("POST", fmt::format("/v1/agents/{}/report", options_.name),
              protocol::report_message_text(message)),
      [this, count, version, sent_us, mine = session_number_](Result<wire::Response> answer) {
        if (mine == session_number_) reported(count, version, sent_us, answer);
      },
      kReportTimeout);
}

void Agent::reported(std::size_t count, std::uint64_t inventory_version, std::int64_t sent_us,
                     const Result<wire::Response>& answer) {
  in_flight_ = false;
  if (!answer.ok()) return lost_session(answer.error());
  const Json message = answer_object(*answer);
  if (says_full(*answer, message)) {  // it is there but cannot write now: say it again soon
    contact_->heard(sent_us);
    return post_flush(kReportAgain_us);
  }
  if (answer->status != 200) {
    ++failures_;
    return lost_session(answer_refusal(*answer, message, "report_refused"));
  }
  failures_ = 0;
  inventory_told_ = inventory_version;
  reports_.erase(reports_.begin(), reports_.begin() + static_cast<std::ptrdiff_t>(count));
  contact_->heard(sent_us);
  const Result<protocol::ReportAnswer> read = protocol::read_report_answer(message);
  if (!read.ok()) return lost_session(read.error());
  contact_->saw(read->epoch, read->log_head, read->proof);
  compare_clocks(sent_us, read->now_us);
  if (read->resync) {
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

}  // namespace dove::agent
