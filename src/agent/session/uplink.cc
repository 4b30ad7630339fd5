#include "agent/session/uplink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "codec/json.h"
#include "files/filled_file.h"
#include "files/kept_lines.h"
#include "files/text_file.h"
#include "telemetry/log.h"
#include "wire/tls/sealed_box.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kFileBytesMax = 256 << 10;
constexpr char kLeaderFile[] = "controller";  // "ADDRESS EPOCH\n"; of former versions "ADDRESS\n"
constexpr char kKnownBy[] = "known_by";
constexpr std::int64_t kLeastLeft_s = 2;
// A fifth of the fence, where nobody has set another.
constexpr std::chrono::seconds kReach{1};
constexpr std::chrono::seconds kAnswer{30};
constexpr std::chrono::seconds kStandingAnswer{3};

// Absent, and of another type: "".
std::string text_of(const Json& object, const char* name) {
  const Json value = object.is_object() ? object.value(name, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

Uplink::Uplink(wire::Loop& loop, UplinkOptions options)
    : loop_(loop), options_(std::move(options)) {
  for (const wire::ServerUrl& url : options_.urls) {
    const wire::Address address{url.host, url.port, nullptr};
    Place place;
    place.people = place.agents = address;
    place.is_known = !url.secure;
    place.patience = patience().least;
    place.front = front_of(place);
    place.line = line_of(place);
    places_.push_back(std::move(place));
  }
}

std::unique_ptr<wire::AsyncClient> Uplink::front_of(const Place& place) const {
  return std::make_unique<wire::AsyncClient>(
      loop_, place.people,
      wire::AsyncClientOptions{.connect_timeout = place.patience, .reach_timeout = reach()});
}

// The session watches its stream itself: the client would close one that is late, and a controller
// that hears of that may take it for a break.
std::unique_ptr<wire::AsyncClient> Uplink::line_of(const Place& place) const {
  return std::make_unique<wire::AsyncClient>(
      loop_, place.agents,
      wire::AsyncClientOptions{.http2 = true,
                               .connect_timeout = place.patience,
                               .reach_timeout = reach(),
                               .open_timeout = std::chrono::microseconds(0)});
}

// Another controller may lead by now: a machine that is gone must not hold up the search. With one
// alone there is nobody else to ask.
std::chrono::microseconds Uplink::reach() const {
  return has_several() ? kReach : std::chrono::microseconds(0);
}

Uplink::Patience Uplink::patience() const {
  const std::chrono::seconds shortest{5};
  const std::chrono::seconds longest{20};
  if (!waits_for_turn()) return {shortest, longest};
  return {longest, std::chrono::seconds(100)};
}

std::chrono::microseconds Uplink::answer_within() const {
  if (here().stands) return kStandingAnswer;
  return waits_for_turn() ? here().patience + kAnswer : kAnswer;
}

void Uplink::be_patient(Place& place, std::chrono::seconds patience) {
  place.patience = patience;
  place.front->connect_within(patience);
  place.line->connect_within(patience);
}

void Uplink::forget_port() {
  if (secure() && has_several()) here().is_known = false;
}

// Without TLS there is one port, which is known.
std::optional<std::size_t> Uplink::unknown_port(std::size_t from) const {
  for (std::size_t i = from; i < places_.size(); ++i) {
    if (!places_[i].is_known) return i;
  }
  return std::nullopt;
}

std::unique_ptr<wire::AsyncClient> Uplink::visitor(std::size_t place) const {
  return front_of(places_[place]);
}

bool Uplink::know_port(std::size_t place, const Json& port) {
  if (!is_port(port)) return false;
  move_port(places_[place], port.get<std::uint16_t>());
  return true;
}

bool Uplink::is_port(const Json& port) {
  return port.is_number_unsigned() && port <= 65'535 && port != 0;
}

void Uplink::move_port(Place& place, std::uint16_t port) {
  place.is_stale = place.is_stale || port != place.agents.port;
  place.agents.port = port;
  place.is_known = true;
}

void Uplink::timed_out() { be_patient(here(), std::min(2 * here().patience, patience().most)); }

void Uplink::turn() {
  here().stands = false;
  at_ = (at_ + 1) % places_.size();
}

wire::AsyncClient* Uplink::standing_line(std::size_t place) {
  Place& there = places_[place];
  if (place == at_ || !there.is_known) return nullptr;
  refresh(there);
  return there.line.get();
}

bool Uplink::stands(std::size_t place, bool answered) {
  if (place == at_) return false;
  return !std::exchange(places_[place].stands, answered) && answered;
}

void Uplink::turn_to_leader() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].people.text() == led_by_) at_ = i;
  }
}

void Uplink::give_up_calls() {
  for (Place& place : places_) {
    place.front = front_of(place);
    place.line = line_of(place);
    place.is_stale = place.stands = false;
  }
}

void Uplink::came_through() {
  here().stands = false;
  for (Place& place : places_) be_patient(place, patience().least);
}

// A restarted agent must not take the refusal of a former one for an outage: it rather knows of
// none, which costs it its grace at worst.
void Uplink::leads_here(std::uint64_t epoch) {
  if (!has_several() || (led_here() && epoch <= led_epoch_)) return;
  led_by_ = here().people.text();
  led_epoch_ = std::max(led_epoch_, epoch);
  const std::string text = fmt::format("{} {}\n", led_by_, led_epoch_);
  if (files::write_atomically(path(kLeaderFile), text, 0644).ok()) return;
  forget_leader(options_.data_dir);
}

void Uplink::forget_leader(const std::string& data_dir) {
  std::error_code ignored;
  std::filesystem::remove(data_dir + '/' + kLeaderFile, ignored);
}

Result<void> Uplink::open() {
  std::istringstream led(files::text_or_empty(path(kLeaderFile), kFileBytesMax));
  led >> led_by_ >> led_epoch_;
  turn_to_leader();
  if (!secure()) return {};
  key_pem_ = files::text_or_empty(path("agent_key.pem"), kFileBytesMax);
  if (key_pem_.empty()) {
    key_pem_ = wire::make_private_key();
    TRY(files::write_atomically(path("agent_key.pem"), key_pem_, 0600, files::Survives::kPowerCut));
  }
  authority_pem_ = files::text_or_empty(path("ca.pem"), kFileBytesMax);
  // One that was damaged: the server shows it, and its digest tells whether it is the one.
  if (!wire::read_certificate(authority_pem_).ok()) authority_pem_.clear();
  Result<std::string> kept = known_by();
  is_authority_lost_ = !kept.ok();
  // With another token the node joins another cluster, and what was kept is of no use.
  if (!kept.ok() && options_.authority_digest.empty() && options_.ca_file.empty()) {
    return kept.error();
  }
  if (options_.authority_digest.empty() && kept.ok()) options_.authority_digest = *kept;
  if (!kept.ok() || options_.authority_digest != *kept) authority_pem_.clear();
  if (kept.ok() && !authority_pem_.empty() && ::access(path(kKnownBy).c_str(), F_OK) != 0) {
    TRY(keep_known_by());  // of a former version
  }
  return trust();
}

Result<std::string> Uplink::known_by() const {
  const std::string file = path(kKnownBy);
  const auto is_digest = [](const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  const auto lost = [](const std::string& where, const char* what) {
    return Error{
        ErrorKind::kCorrupt, "authority_lost",
        fmt::format("{} {}, so that the server cannot be told from another one: restore it "
                    "from a backup, or give a new join token (`dove join-token create`) or "
                    "the server's authority (--ca-file)",
                    where, what),
        where};
  };
  const Result<std::string> text = files::read_text(file, kFileBytesMax);
  if (text.ok()) {
    const files::KeptLines lines = files::read_kept_lines(file, kFileBytesMax);
    const bool is_whole = text->starts_with('=') && lines.damaged == 0 && lines.whole.size() == 1 &&
                          (lines.whole[0].empty() || is_digest(lines.whole[0]));
    if (!is_whole) return lost(file, "is damaged");
    return lines.whole[0];
  }
  if (text.error().kind != ErrorKind::kNotFound) return text.error();
  // A former version wrote an empty file where the system's authorities were to vouch.
  const std::string former = path("authority_digest");
  Result<std::string> digest = files::read_text(former, kFileBytesMax);
  if (!digest.ok() && digest.error().kind == ErrorKind::kNotFound) {
    if (authority_pem_.empty()) return std::string();  // it has not joined
    return lost(former, "is gone");
  }
  if (!digest.ok() || digest->empty() || is_digest(*digest)) return digest;
  return lost(former, "is damaged");
}

Result<void> Uplink::keep_known_by() const {
  const std::string& digest = options_.authority_digest;
  // Known by --ca-file this time. An empty digest would have the system's authorities believed
  // once that is taken away.
  if (is_authority_lost_ && digest.empty()) return {};
  TRY(files::write_atomically(path(kKnownBy), files::kept_line(digest), 0644,
                              files::Survives::kPowerCut));
  return files::write_atomically(path("authority_digest"), digest, 0644,
                                 files::Survives::kPowerCut);
}

// How the server at people's port is known.
Result<void> Uplink::trust() {
  wire::TlsClientOptions options;
  if (!options_.ca_file.empty()) {
    TRY_ASSIGN(options.authorities_pem, files::read_filled(options_.ca_file, kFileBytesMax));
  } else if (!options_.authority_digest.empty() && !authority_pem_.empty()) {
    options.authorities_pem = authority_pem_;  // that one, and who has followed it since
  } else {
    options.authority_digest = options_.authority_digest;  // "": those of the system
  }
  // An authority of others may well have made certificates that begin later.
  options.time = tls_time(options_.ca_file.empty() && !options_.authority_digest.empty());
  for (Place& place : places_) {
    TRY_ASSIGN(place.people.tls, wire::Tls::for_client(options));
    place.front = front_of(place);
  }
  return {};
}

bool Uplink::certified() const {
  return !secure() || (here().is_known && until_s_ - now_s() >= kLeastLeft_s);
}

// Connections may outlive this.
wire::TlsTime Uplink::tls_time(bool may_begin_later) const {
  wire::TlsTime made;
  made.now_s = [&loop = loop_, time = time_] {
    if (time->controller_s == 0) return loop.wall_us() / 1'000'000;
    return time->controller_s + (loop.monotonic_us() - time->steady_us) / 1'000'000;
  };
  made.may_begin_later = may_begin_later;
  return made;
}

// A node whose clock is wrong is certified all the same, and people are told.
void Uplink::compare_clocks(const wire::CertificateFacts& facts) const {
  const std::int64_t wall_s = loop_.wall_us() / 1'000'000;
  const bool is_late = facts.not_after_s <= wall_s;
  if (!is_late && facts.not_before_s <= wall_s) return;
  telemetry::log(
      telemetry::Level::kWarning, "wrong_clock",
      {{"why", fmt::format("the certificate that the controller gave is not valid by this node's "
                           "clock, which is {} s {} it; set the clocks of both machines",
                           is_late ? wall_s - facts.not_after_s : facts.not_before_s - wall_s,
                           is_late ? "after" : "before")}});
}

wire::Request Uplink::request(std::string method, const std::string& tail, std::string body) const {
  wire::Request out;
  out.method = std::move(method);
  out.target = fmt::format("/v1/agents/{}/{}", options_.node, tail);
  out.headers = {{"Authorization", "Bearer " + token_}, {"Content-Type", "application/json"}};
  out.body = std::move(body);
  return out;
}

Result<std::string> Uplink::key_digest() const {
  return secure() ? wire::key_digest(key_pem_) : std::string();
}

Result<std::string> Uplink::certificate_request() {
  if (!request_.empty()) return request_;
  TRY_ASSIGN(std::string request, wire::certificate_request(key_pem_));
  return request_ = codec::dump_json(Json{{"request", std::move(request)}});
}

Result<void> Uplink::take(const Json& answer) {
  const Json port = answer.value("agents_port", Json());
  if (!is_port(port)) {
    return Error{ErrorKind::kInvalid, "malformed_answer",
                 "the controller's answer names no port for agents", ""};
  }
  const std::string certificate = text_of(answer, "certificate");
  TRY_ASSIGN(const wire::CertificateFacts facts, wire::read_certificate(certificate));
  compare_clocks(facts);
  *time_ = {facts.not_before_s + wire::kBeginsBefore_s, loop_.monotonic_us()};
  Place& place = here();
  move_port(place, port.get<std::uint16_t>());
  TRY(show(certificate, text_of(answer, "authority")));
  show_psk(answer.value("psk", Json()), facts.not_after_s);
  uri_ = facts.uri;
  from_s_ = now_s();
  until_s_ = facts.not_after_s;
  // Until the next renewal it would hold a connection of people's port for nothing.
  place.front = front_of(place);
  return {};
}

// A controller of a former version gives none.
void Uplink::show_psk(const Json& given, std::int64_t until_s) {
  wire::Psk psk{text_of(given, "identity"), "", until_s};
  Result<std::string> key = wire::from_base64(text_of(given, "key"));
  if (psk.identity.empty() || !key.ok() || key->empty()) return;
  psk.key = std::move(*key);
  tls_->show_psk(std::move(psk));
}

Result<void> Uplink::show(const std::string& certificate_pem, const std::string& authority_pem) {
  const wire::Credentials own{certificate_pem, key_pem_};
  for (const auto& serving : serving_) TRY(serving->show(own));
  if (tls_ != nullptr && authority_pem == authority_pem_) {
    TRY(tls_->show(own));
  } else {
    wire::TlsClientOptions options;
    options.authorities_pem = authority_pem;
    options.own = own;
    options.time = tls_time(/*may_begin_later=*/true);
    TRY_ASSIGN(tls_, wire::Tls::for_client(options));
    for (Place& each : places_) {
      each.agents.tls = tls_;
      each.is_stale = true;
    }
  }
  TRY(files::write_atomically(path("agent_certificate.pem"), certificate_pem, 0644));
  own_ = own;
  return keep(authority_pem);
}

void Uplink::OwnLine::call(wire::Request request, std::function<void(Result<wire::Response>)> done,
                           std::chrono::microseconds timeout) {
  const wire::Address& now = uplink_.address();
  if (client_ == nullptr || now.host != to_.host || now.port != to_.port || now.tls != to_.tls) {
    to_ = now;
    if (client_ != nullptr) former_.push_back(std::move(client_));
    client_ =
        std::make_unique<wire::AsyncClient>(loop_, to_, wire::AsyncClientOptions{.http2 = http2_});
    if (!http2_) client_->borrow_from([&uplink = uplink_] { return uplink.waiting_line(); });
  }
  std::erase_if(former_, [](const auto& one) { return one->pending() == 0; });
  client_->call(std::move(request), std::move(done), timeout);
}

Result<std::shared_ptr<const wire::Tls>> Uplink::serving(Callers callers) {
  if (!secure()) return std::shared_ptr<const wire::Tls>();
  wire::TlsServerOptions options;
  options.own = own_;
  options.time = tls_time(/*may_begin_later=*/true);
  if (callers == Callers::kNodes) options.client_authorities_pem = authority_pem_;
  TRY_ASSIGN(std::shared_ptr<wire::Tls> made, wire::Tls::for_server(options));
  if (callers == Callers::kNodes) made->let_in(may_enter());
  serving_.push_back(made);
  return std::shared_ptr<const wire::Tls>(std::move(made));
}

std::shared_ptr<const wire::Tls> Uplink::toward(const std::string& node) const {
  if (!secure() || uri_.empty()) return nullptr;
  wire::TlsClientOptions options;
  options.authorities_pem = authority_pem_;
  options.own = own_;
  options.time = tls_time(/*may_begin_later=*/true);
  options.server_uri = uri_.substr(0, uri_.rfind('/') + 1) + node;
  Result<std::shared_ptr<wire::Tls>> made = wire::Tls::for_client(options);
  CHECK(made.ok(), "what is shown to the controller can be shown to nodes");
  (*made)->let_in(may_enter());
  return *made;
}

void Uplink::keep_out(const std::vector<std::string>& nodes) {
  *kept_out_ = {nodes.begin(), nodes.end()};
}

std::function<bool(const std::string& uri)> Uplink::may_enter() const {
  return [kept_out = kept_out_](const std::string& uri) {
    return !kept_out->contains(std::string_view(uri).substr(uri.rfind('/') + 1));
  };
}

Result<void> Uplink::keep(const std::string& authority_pem) {
  if (authority_pem == authority_pem_) return {};
  TRY(files::write_atomically(path("ca.pem"), authority_pem, 0644, files::Survives::kPowerCut));
  TRY(keep_known_by());
  authority_pem_ = authority_pem;
  return trust();
}

// Its calls are over, as the session was.
void Uplink::begin_anew() { refresh(here()); }

void Uplink::refresh(Place& place) {
  if (place.is_stale) place.line = line_of(place);
  place.is_stale = false;
}

std::chrono::microseconds Uplink::until_renewal(double random) const {
  const double life = static_cast<double>(until_s_ - from_s_);
  const double at = static_cast<double>(from_s_) + life * (2.0 / 3 - random / 10);
  // Where that has passed, because it could not be renewed: again after a twentieth of its life.
  const double left_s = std::max({at - static_cast<double>(now_s()), life / 20, 1.0});
  return std::chrono::microseconds(static_cast<std::int64_t>(left_s * 1e6));
}

std::string Uplink::authority_path() const {
  if (!secure() || !options_.ca_file.empty()) return options_.ca_file;
  return options_.authority_digest.empty() ? "" : path("ca.pem");
}

}  // namespace dove::agent
