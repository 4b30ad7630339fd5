#include "agent/session/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/session/answer.h"
#include "codec/json.h"
#include "files/text_file.h"
#include "model/incarnation.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kLine_bytes = std::size_t{64} << 20;
constexpr std::size_t kTokenBytesMax = 64 << 10;
constexpr std::chrono::seconds kReportTimeout{10};
constexpr std::chrono::seconds kAskTimeout{2};
constexpr std::int64_t kFenceMin_us = 10'000;
constexpr std::chrono::seconds kKeepAgain{1};
constexpr std::chrono::seconds kKeepAgainMost{60};

// Names of directories begin with it: hexadecimal digits, or nothing.
std::string directory_name(const std::string& id) {
  return id.size() <= 64 && id.find_first_not_of("0123456789abcdef") == id.npos ? id : "";
}

void unreadable(const Error& why) {
  telemetry::log(telemetry::Level::kError, "order_unreadable", {{"why", why.message}});
}

}  // namespace

Session::Session(wire::Loop& loop, SessionOptions options, Uplink& uplink,
                 const NodeDescription& node, LeaseKeeper::Renew renew, Host host)
    : loop_(loop),
      options_(std::move(options)),
      uplink_(uplink),
      node_(node),
      renew_(std::move(renew)),
      host_(std::move(host)),
      certificate_(loop, uplink, options_.node,
                   {[this] { return connected(); }, [this] { host_.certified(); }}),
      standing_(loop, uplink, options_.node, [this] { return connected(); }),
      scout_(
          loop, uplink, options_.node, [this] { return connected(); },
          [this](std::size_t place) { standing_.keep(place); }),
      reports_(loop, {[this] { return version_told_ != node_.version(); },
                      [this](std::uint64_t number, std::vector<protocol::Report> batch) {
                        send_report(number, std::move(batch));
                      }}),
      questions_(loop, uplink),
      jitter_(std::hash<std::string>{}(options_.node)) {}

Result<void> Session::open() {
  TRY_ASSIGN(Contact contact, Contact::open(options_.data_dir + "/contact", options_.former_wait));
  contact_.emplace(std::move(contact));
  contact_->begin_boot(options_.boot_id);
  lease_.emplace(loop_, *contact_, LeaseKeeper::Host{renew_, [this] { ask(); }, options_.wall_us});
  uplink_.show_token(files::text_or_empty(options_.data_dir + "/agent_token", kTokenBytesMax));
  return uplink_.open();
}

void Session::begin() {
  lease_->begin();
  connect();
}

void Session::stop() {
  is_stopped_ = true;
  certificate_.stop();
  scout_.stop();
  standing_.stop();
  orders_.reset();
  silent_orders_.reset();
  reports_.close();
  id_.clear();
  ++number_;
  silence_timer_.cancel();
  reconnect_timer_.cancel();
  heartbeat_timer_.cancel();
  token_timer_.cancel();
}

void Session::connect() {
  if (is_stopped_) return;
  if (uplink_.token().empty()) return join();
  // Those who were cut off ask for a certificate: they are told why.
  const bool asks = uplink_.secure() && refused_.has_value() && is_cut_off(*refused_);
  if (asks || !uplink_.certified()) return certify();
  sync();
}

void Session::connect_later() {
  reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
}

protocol::Machine Session::machine() const {
  return {options_.boot_id,     options_.address,    options_.version,
          options_.machine_id,  contact_->boot_id(), contact_->epoch(),
          contact_->log_head(), contact_->proof(),   node_.inventory()};
}

void Session::join() {
  protocol::Join join;
  join.name = options_.node;
  Result<std::string> key = uplink_.key_digest();
  if (!key.ok()) return connect_failed(key.error());
  join.key = std::move(*key);
  join.machine = machine();
  wire::Request message = uplink_.request("POST", "", protocol::join_text(join));
  message.target = "/v1/agents/join";  // there is no node yet
  message.headers.front().second = "Bearer " + options_.join_token;
  uplink_.front().call(
      std::move(message), [this](Result<wire::Response> answer) { joined(answer); },
      uplink_.answer_within());
}

void Session::joined(const Result<wire::Response>& answer) {
  if (!answer.ok()) {
    // Whoever cannot be trusted now, with this join token, cannot be later.
    const bool final = is_distrust(answer.error()) && host_.join_refused;
    return final ? host_.join_refused(answer.error()) : connect_failed(answer.error());
  }
  const Json message = answer_object(*answer);
  if (answer->status / 100 != 2) {
    const Error refused = answer_refusal(*answer, message, "join_refused");
    if (answer->status == 401 && host_.join_refused) return host_.join_refused(refused);
    return connect_failed(refused);
  }
  Result<protocol::JoinAnswer> taken = protocol::read_join_answer(message);
  if (!taken.ok()) return connect_failed(taken.error());
  uplink_.show_token(std::move(taken->agent_token));
  keep_token();
  connect();
}

// The join token is used up: this one must still be there after a power cut. Until it is, this
// agent may not end.
void Session::keep_token() {
  const Result<void> kept = files::write_atomically(
      options_.data_dir + "/agent_token", uplink_.token(), 0600, files::Survives::kPowerCut);
  const bool was_lost = std::exchange(token_is_lost_, !kept.ok());
  if (kept.ok()) return;
  if (!was_lost) {
    telemetry::log(telemetry::Level::kError, "cannot_keep_token",
                   {{"node", options_.node},
                    {"why", kept.error().message},
                    {"effect", "without it this node has to join anew when its agent has ended"}});
  }
  // Later and later: a disk that fails may hold up the loop each time.
  keep_again_ = was_lost ? std::min(2 * keep_again_, kKeepAgainMost) : kKeepAgain;
  token_timer_ = loop_.after(keep_again_, [this] { keep_token(); });
}

void Session::certify() {
  const std::int64_t sent_us = loop_.monotonic_us();
  certificate_.ask([this, sent_us](const Result<void>& certified) {
    if (certified.ok()) return sync();
    const Error& error = certified.error();
    if (error.code == NodeCertificate::kFull) return controller_full(sent_us);
    connect_failed(error);
  });
}

// In two steps, as a sync says what is held and takes time to arrive. With the first one the node
// asks for a ticket; the controller takes a second one only with the ticket that it gave last, so a
// sync that was delayed in the network cannot undo a later one. The first one is to be small: when
// another controller begins to lead, all nodes send theirs together.
void Session::sync() {
  protocol::Sync sync;
  sync.ticket = ticket_;
  sync.machine = machine();
  if (ticket_.empty() && knows_tickets_) {
    sync.machine.inventory = {};
  } else {
    sync.agent_pid = getpid();
    node_.describe(sync);
    host_.held(sync, brings_ends_ && !ticket_.empty());
    version_synced_ = node_.version();
  }
  const std::int64_t sent_us = loop_.monotonic_us();
  // The controller may take it, and its answer be lost: then it counts on us, and we must know.
  if (!ticket_.empty()) lease_->may_be_heard(asked_us_);
  uplink_.begin_anew();
  uplink_.line().call(
      uplink_.request("POST", "sync", protocol::sync_text(sync)),
      [this, sent_us](Result<wire::Response> answer) { sync_answered(answer, sent_us); },
      uplink_.answer_within());
}

void Session::sync_answered(const Result<wire::Response>& answer, std::int64_t sent_us) {
  if (is_stopped_) return;
  if (!answer.ok()) return not_reached(answer.error());
  const Json message = answer_object(*answer);
  if (says_full(*answer, message)) return controller_full(sent_us);
  if (answer->status != 200) {
    return connect_failed(answer_refusal(*answer, message, "sync_refused"));
  }
  const Result<protocol::SyncAnswer> read = protocol::read_sync_answer(message);
  if (!read.ok()) return connect_failed(read.error());
  const bool had_ticket = !ticket_.empty();
  ticket_ = read->ticket;
  brings_ends_ = is_former_incarnation(Epoch(contact_->epoch()), Epoch(read->epoch));
  if (!ticket_.empty() && !had_ticket) return take_ticket(*read, sent_us);
  // Ours was given to somebody since; it came too late.
  if (!ticket_.empty()) return connect_later();
  // A controller that was replaced and does not know it: what it orders is void.
  if (read->epoch < contact_->epoch()) return connect_failed(replaced());
  synced(*read, sent_us);
}

// Where there are several, the newer one counts on this node: that an older one still answers
// proves nothing.
Error Session::replaced() const {
  return Error{uplink_.has_several() ? ErrorKind::kTimeout : ErrorKind::kConflict, "older_epoch",
               "this controller was replaced by a newer one", ""};
}

// Whether the controller counts on this node is known at once; what it holds, it says in its turn.
// Only a leader gives tickets, so the terms before its own are over: neither a sync that was sent
// there counts any more, nor the end of a stream from there. It may take the next one, and its
// answer be lost. A former leader that does not know of its end yet is not believed, also where
// the next one has given nothing but a ticket.
void Session::take_ticket(const protocol::SyncAnswer& answer, std::int64_t sent_us) {
  const std::uint64_t newest = std::max(contact_->epoch(), uplink_.led_epoch());
  if (uplink_.has_several() && answer.epoch != 0 && answer.epoch < newest) {
    return connect_failed(replaced());
  }
  knows_tickets_ = true;
  asked_us_ = sent_us;
  if (!uplink_.led_here()) silent_orders_.reset();
  uplink_.leads_here(answer.epoch);
  if (!answer.waits_us || answer.epoch < contact_->epoch()) return sync();
  lease_->awaited(sent_us, *answer.waits_us);
  telemetry::log(telemetry::Level::kInfo, "awaited",
                 {{"node", options_.node},
                  {"epoch", static_cast<std::int64_t>(answer.epoch)},
                  {"for_ms", *answer.waits_us / 1'000},
                  {"syncs_in_ms", answer.sync_after_us / 1'000}});
  if (answer.sync_after_us == 0) return sync();
  reconnect_timer_ =
      loop_.after(std::chrono::microseconds(answer.sync_after_us), [this] { sync(); });
}

void Session::synced(const protocol::SyncAnswer& answer, std::int64_t sent_us) {
  heartbeat_us_ = std::max<std::int64_t>(answer.heartbeat_us, 1'000);
  id_ = answer.session;
  ++number_;
  is_asking_ = false;
  applied_ = answer.after;
  contact_->lives_in(options_.boot_id);
  uplink_.leads_here(answer.epoch);
  silent_orders_.reset();  // the controller knows of the new session, so it hears of no break
  refused_.reset();
  is_held_up_ = false;
  version_told_ = version_synced_;
  contact_->saw(answer.epoch, answer.log_head, answer.proof);
  reports_.open();
  lease_->session_began({std::max<std::int64_t>(answer.fence_us, kFenceMin_us),
                         answer.disconnect_grace_us, answer.outage_grace_us, heartbeat_us_},
                        sent_us);
  uplink_.keep_out(answer.expelled);
  host_.opened(directory_name(answer.cluster_id));
  // The stream begins behind the record that the answer's orders go up to, so none is missed
  // between them.
  open_orders();
  protocol::Control ends;
  ends.forget = answer.forget;
  host_.control(ends);
  for (const std::string& order : answer.orders) on_line(order);
  host_.began();
  reports_.flush();
  heartbeat();
  scout_.begin();
  standing_.begin();
}

void Session::open_orders() {
  wire::StreamCallbacks callbacks;
  callbacks.on_open = [this](int status) {
    if (!connected()) return;  // a former session's
    if (status == 200) {
      uplink_.came_through();
      return expect_orders(options_.stream_silence_us);
    }
    const bool is_elsewhere = status == 503 && uplink_.has_several();
    lost(Error{is_elsewhere ? ErrorKind::kTimeout : wire::kind_of_status(status), "orders_refused",
               fmt::format("the controller answered {} to the orders stream", status), ""});
  };
  callbacks.on_line = [this](std::string_view line) {
    if (!connected()) return;
    orders_due_us_ = loop_.monotonic_us() + options_.stream_silence_us;
    on_line(line);
  };
  callbacks.on_closed = [this](Error error) { orders_closed(error); };
  expect_orders(options_.stream_open_us);
  orders_ = uplink_.line().open_stream(
      uplink_.request("GET", fmt::format("orders?session={}&after={}", id_, applied_), ""),
      std::move(callbacks));
}

void Session::expect_orders(std::int64_t within_us) {
  orders_due_us_ = loop_.monotonic_us() + within_us;
  watch_silence();
}

// One timer a silence, not one a line: it looks at when the last line came, and sleeps the rest.
void Session::watch_silence() {
  const std::int64_t left_us = orders_due_us_ - loop_.monotonic_us();
  if (left_us <= 0) {
    return lost(
        Error{ErrorKind::kTimeout, "timeout", "nothing came from the controller for too long", ""});
  }
  silence_timer_ = loop_.after(std::chrono::microseconds(left_us), [this] { watch_silence(); });
}

void Session::on_line(std::string_view text) {
  const Result<Json> line = codec::parse_json(text, kLine_bytes);
  if (!line.ok()) return unreadable(line.error());
  if (line->contains("order")) return on_order(*line, std::string(text));
  const Result<protocol::Control> control = protocol::read_control(*line);
  if (!control.ok()) return unreadable(control.error());
  if (control->ping.has_value()) {
    contact_->saw(control->epoch.value, control->ping->value, control->proof);
  }
  if (control->bye) contact_->outage(outage_from_us());
  if (control->expelled) uplink_.keep_out(*control->expelled);
  host_.control(*control);
}

// The fence of epochs: two controllers may live for a moment, each believing that it leads. The
// newer one's ledger stands, so an order of the older one is refused even if its record is new.
void Session::on_order(const Json& line, std::string text) {
  const Result<protocol::Order> read = protocol::read_order(line);
  if (!read.ok()) return unreadable(read.error());
  contact_->saw(read->epoch.value, read->seq.value, read->proof);
  if (read->epoch.value < contact_->epoch()) {
    const std::string why = fmt::format("an order of epoch {}, when epoch {} has begun",
                                        read->epoch.value, contact_->epoch());
    telemetry::log(telemetry::Level::kWarning, "order_refused",
                   {{"attempt", read->key.text()}, {"why", why}});
    return reports_.add(protocol::OrderRefused{read->key, why});
  }
  host_.order(*read, line, std::move(text));
  applied_ = std::max(applied_, read->seq.value);
}

protocol::ReportMessage Session::report_message() const {
  protocol::ReportMessage message;
  message.session = id_;
  message.applied = applied_;
  message.epoch_seen = contact_->epoch();
  message.log_head_seen = contact_->log_head();
  message.placements_hash = fmt::format("{:016x}", host_.placements_hash());
  return message;
}

// Whether the controller still has this session. It is asked beside what is under way: a report
// with events is answered once they are written, which may take longer than the lease.
void Session::ask() {
  if (!connected() || is_asking_) return;
  is_asking_ = true;
  const std::int64_t sent_us = loop_.monotonic_us();
  questions_.call(
      uplink_.request("POST", "report", protocol::report_message_text(report_message())),
      [this, sent_us, mine = number_](const Result<wire::Response>& answer) {
        if (mine == number_) asked(sent_us, answer);
      },
      kAskTimeout);
}

// No answer says nothing: the messages of the session tell whether it is lost. Nor does a word
// about placements, which may differ by the report under way.
void Session::asked(std::int64_t sent_us, const Result<wire::Response>& answer) {
  is_asking_ = false;
  if (!answer.ok()) return;
  const Json message = answer_object(*answer);
  if (answer->status == 200 || says_full(*answer, message)) return contact_->heard(sent_us);
  ++failures_;
  lost(answer_refusal(*answer, message, "report_refused"));
}

void Session::send_report(std::uint64_t number, std::vector<protocol::Report> batch) {
  protocol::ReportMessage message = report_message();
  message.number = number;
  message.reports = std::move(batch);
  const std::uint64_t version = node_.version();
  if (version_told_ != version) node_.describe(message);
  const std::int64_t sent_us = loop_.monotonic_us();
  uplink_.line().call(
      uplink_.request("POST", "report", protocol::report_message_text(message)),
      [this, version, sent_us, mine = number_](Result<wire::Response> answer) {
        if (mine == number_) reported(version, sent_us, answer);
      },
      kReportTimeout);
}

void Session::reported(std::uint64_t version, std::int64_t sent_us,
                       const Result<wire::Response>& answer) {
  if (!answer.ok()) return lost(answer.error());
  const Json message = answer_object(*answer);
  if (says_full(*answer, message)) {
    contact_->heard(sent_us);
    return reports_.full();
  }
  if (answer->status != 200) {
    ++failures_;
    return lost(answer_refusal(*answer, message, "report_refused"));
  }
  failures_ = 0;
  version_told_ = version;
  reports_.taken();
  contact_->heard(sent_us);
  const Result<protocol::ReportAnswer> read = protocol::read_report_answer(message);
  if (!read.ok()) return lost(read.error());
  contact_->saw(read->epoch, read->log_head, read->proof);
  compare_clocks(sent_us, read->now_us);
  // The ledger and the digest of what is held differ: only a sync shows in what.
  if (read->resync) {
    return lost(Error{ErrorKind::kConflict, "resync", "the controller asks to sync", ""});
  }
  reports_.flush();
}

void Session::compare_clocks(std::int64_t sent_us, std::int64_t controller_us) {
  // 0: a controller of a former version. A world of its own has one clock for all.
  if (controller_us == 0 || loop_.world() != nullptr) return;
  std::optional<Finding> finding =
      clock_.heard({sent_us, loop_.monotonic_us(), loop_.wall_us(), controller_us});
  if (finding) host_.found(std::move(*finding));
}

// The sync has just said what the first one would.
void Session::heartbeat() {
  heartbeat_timer_ = loop_.after(std::chrono::microseconds(heartbeat_us_), [this] {
    heartbeat();
    reports_.beat();
  });
}

}  // namespace dove::agent
