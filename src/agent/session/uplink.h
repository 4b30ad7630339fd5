// Uplink: the agent's connections to its controller: addresses, connections, and the certificate
// that it presents.
//
// Without TLS there is one port for everything. With TLS a node joins, and requests its
// certificate, at the port of people, where only the server presents one; everything else uses the
// port of agents, where both ends do. The key is made here and never leaves the node. Loop thread
// only.
//
// Agents' calls, the stream of orders, and what tasks print and read share one connection of
// HTTP/2. A controller of a former version, or one without TLS, takes two of HTTP/1.1, and one for
// each relay.
//
// Where there are several controllers, one of them leads: turn() moves on to the next, and the
// connections to the previous ones are kept. led_here() says whether this is the last that was seen
// to lead, over restarts of the agent, too. No other one can have taken a sync since then. In which
// term that was tells one that was replaced and does not know it.
//
// Time. A wrong clock must not separate the node from its controller, because its tasks would end.
// Certificates are therefore judged by the controller's time: the time at which it made this node's
// own certificate, which only the cluster's authority can, plus what has passed since by the steady
// clock. Before the process has its first certificate there is only this machine's clock. The
// controller's certificate, of the authority that the node knows by its digest, may then begin
// later, but must not have ended: a stolen one is valid for no longer than it says. The finding
// `clock` (clock_check.h) reports a wrong clock to people.
//
// Files in the agent's directory: controller, the address of the leader and its term; agent_key.pem
// (0600), agent_certificate.pem; ca.pem, the cluster's authority; known_by, a kept line
// (files/kept_lines.h) with the digest by which it was known when the node joined, or nothing where
// the system's authorities vouch for the server; authority_digest, the same for former versions.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/address.h"
#include "wire/async_client.h"
#include "wire/loop.h"
#include "wire/tls/tls.h"

namespace dove::agent {

struct UplinkOptions {
  std::string node;
  std::string data_dir;
  std::vector<wire::ServerUrl> urls;  // one for each controller, all with TLS or none
  std::string ca_file;           // of the authorities that the server may have; "": the system's
  std::string authority_digest;  // from a join token: the cluster's authority; "": not known
};

class Uplink {
 public:
  // For answers that are waited for; it follows when agents are to call elsewhere. They are streams
  // of line()'s connection where that speaks HTTP/2 and has room, else a connection beside it has
  // them, one after the other. With `http2` they have one of HTTP/2 beside it, side by side. The
  // Uplink outlives it.
  class OwnLine {
   public:
    OwnLine(wire::Loop& loop, const Uplink& uplink, bool http2 = false)
        : loop_(loop), uplink_(uplink), http2_(http2) {}
    void call(wire::Request request, std::function<void(Result<wire::Response>)> done,
              std::chrono::microseconds timeout);

   private:
    wire::Loop& loop_;
    const Uplink& uplink_;
    const bool http2_;
    wire::Address to_;
    std::unique_ptr<wire::AsyncClient> client_;
    std::vector<std::unique_ptr<wire::AsyncClient>> former_;  // until their calls have ended
  };

  Uplink(wire::Loop& loop, UplinkOptions options);

  // Reads what a former life left. Errors name the file.
  Result<void> open();

  bool secure() const { return options_.urls.front().secure; }
  bool has_several() const { return options_.urls.size() > 1; }
  void turn();
  // Back to the one that led last, if it is among them.
  void turn_to_leader();
  // What is asked is not waited for any more; further calls take connections of their own. Streams
  // go on.
  void give_up_calls();
  // A connection was taken, and its handshake not finished in time. The next one at this place may
  // take twice as long: when a whole cluster calls at once, all but a few wait there for their
  // turn, and whoever gives up loses it. 5 s at first and 20 s at most where there is another
  // controller to ask; else 20 s at first and 100 s at most, as the server gives up after 120 s.
  void timed_out();
  // The timeout of calls outside a session, which may have to connect first. Where only one
  // controller can be asked, it leaves the connection all its time: nothing else ends the wait for
  // a turn. Where there are several, one that hangs is left after 30 s, and a connection that was
  // made in quiet times, of which nothing was heard since, after 3 s: the machine may be gone.
  std::chrono::microseconds answer_within() const;
  // All connections of a session stand.
  void came_through();
  // Nobody listens where agents called here: a controller that leads anew may have another port for
  // them, and is asked for it before the next call. Only where there are several, as each asks for
  // a certificate then.
  void forget_port();
  // The first controller, from that place on, of which it is not known where agents call.
  std::optional<std::size_t> unknown_port(std::size_t from) const;
  // Asks that one at people's port, beside all else.
  std::unique_ptr<wire::AsyncClient> visitor(std::size_t place) const;
  std::string people_at(std::size_t place) const { return places_[place].people.text(); }
  std::size_t places() const { return places_.size(); }
  // The connection that a session there would have; nullptr: it is this session's, or it is not
  // known where agents call.
  wire::AsyncClient* standing_line(std::size_t place);
  // It was asked over that, and did or did not answer. Whether that it does is news.
  bool stands(std::size_t place, bool answered);
  // It said where; false: that is no port.
  bool know_port(std::size_t place, const nlohmann::json& port);
  bool led_here() const { return !has_several() || here().people.text() == led_by_; }
  // This controller has given a ticket, or a session; `epoch` 0: it did not say in which term.
  void leads_here(std::uint64_t epoch);
  // The newest term in which one has; 0: not known, or there is one controller alone.
  std::uint64_t led_epoch() const { return led_epoch_; }
  // The next agent on this directory knows of no leader.
  static void forget_leader(const std::string& data_dir);
  // Joining and certificates.
  wire::AsyncClient& front() { return *here().front; }
  // All other calls. REQUIRES: certified().
  wire::AsyncClient& line() { return *here().line; }
  // The same, for whoever waits there for answers; nullptr while it is not the session's.
  const wire::AsyncClient* waiting_line() const {
    return here().is_stale ? nullptr : here().line.get();
  }
  // The token that the controller gave this node; "": it has not joined.
  const std::string& token() const { return token_; }
  void show_token(std::string token) { token_ = std::move(token); }
  // A request to /v1/agents/NODE/`tail`, in the node's name.
  wire::Request request(std::string method, const std::string& tail, std::string body) const;
  // Where further connections go, as line().
  const wire::Address& address() const { return here().agents; }
  // Whether there is a certificate that is still good for a while, or none is needed.
  bool certified() const;

  // The session was lost in silence: its connection is left to the stream that stays open, and the
  // next session takes another.
  void leave_line() { here().is_stale = secure(); }
  // Before a new session: what was taken during the last one holds for the next.
  void begin_anew();
  // The digest of the node's key, as a Join names it; "" without TLS. Error: bad_key.
  Result<std::string> key_digest() const;
  // The body of a request for a certificate. Made once: whoever looks for a leader needs it often.
  Result<std::string> certificate_request();
  // Takes what the controller answered to it. Errors: malformed_answer, and files that cannot be
  // written.
  Result<void> take(const nlohmann::json& answer);
  // Until the certificate is to be renewed: two thirds of its life, less a random tenth, from now.
  std::chrono::microseconds until_renewal(double random) const;
  // What this node shows to those who call it; kept up to date. Other nodes show theirs, anybody
  // else shows nothing. nullptr without TLS. REQUIRES: certified().
  enum class Callers { kNodes, kAnybody };
  Result<std::shared_ptr<const wire::Tls>> serving(Callers callers);
  // How another node is called: it shows that it is that one. nullptr without TLS, or where there
  // is no certificate yet.
  std::shared_ptr<const wire::Tls> toward(const std::string& node) const;
  // The nodes whose certificates are refused from now on, in place of those before: they were
  // expelled, and their certificates have not ended.
  void keep_out(const std::vector<std::string>& nodes);
  // A file of the authorities that tasks need to know the server; "": the system's, or no TLS.
  std::string authority_path() const;

 private:
  struct Patience {
    std::chrono::seconds least;
    std::chrono::seconds most;
  };
  struct Place {
    wire::Address people;
    wire::Address agents;
    bool is_known = false;             // which port agents call
    bool is_stale = false;             // line is of a former address, or session
    bool stands = false;               // line was made, and answered, in quiet times
    std::chrono::seconds patience{0};  // until a connection stands
    std::unique_ptr<wire::AsyncClient> front;
    std::unique_ptr<wire::AsyncClient> line;
  };
  // The controller's, and when that was by the steady clock. 0: not known.
  struct Time {
    std::int64_t controller_s = 0;
    std::int64_t steady_us = 0;
  };
  // Asked in handshakes with other nodes; connections may outlive this.
  std::function<bool(const std::string& uri)> may_enter() const;
  std::int64_t now_s() const { return tls_time(false).now_s(); }
  wire::TlsTime tls_time(bool may_begin_later) const;
  void compare_clocks(const wire::CertificateFacts& facts) const;
  // Clients of that place's, to its people and its agents.
  std::unique_ptr<wire::AsyncClient> front_of(const Place& place) const;
  std::unique_ptr<wire::AsyncClient> line_of(const Place& place) const;
  void refresh(Place& place);  // a stale line is made anew
  std::chrono::microseconds reach() const;
  // Nobody else can be asked, and connections wait there for their handshakes.
  bool waits_for_turn() const { return secure() && !has_several(); }
  Patience patience() const;
  void be_patient(Place& place, std::chrono::seconds patience);
  static bool is_port(const nlohmann::json& port);
  static void move_port(Place& place, std::uint16_t port);
  Place& here() { return places_[at_]; }
  const Place& here() const { return places_[at_]; }
  std::string path(const char* name) const { return options_.data_dir + '/' + name; }
  Result<void> trust();
  Result<std::string> known_by() const;
  Result<void> keep_known_by() const;
  Result<void> show(const std::string& certificate_pem, const std::string& authority_pem);
  void show_psk(const nlohmann::json& given, std::int64_t until_s);
  Result<void> keep(const std::string& authority_pem);

  wire::Loop& loop_;
  UplinkOptions options_;
  std::string token_;
  std::string key_pem_;
  std::string request_;  // of that key's certificate; "": not made yet
  std::string authority_pem_;
  bool is_authority_lost_ = false;  // what told the cluster from another one is damaged or gone
  const std::shared_ptr<Time> time_ = std::make_shared<Time>();
  std::int64_t from_s_ = 0;   // of the certificate
  std::int64_t until_s_ = 0;  // 0: there is none
  std::vector<Place> places_;
  std::size_t at_ = 0;
  std::string led_by_;
  std::uint64_t led_epoch_ = 0;
  std::shared_ptr<wire::Tls> tls_;  // of the agents' addresses
  std::vector<std::shared_ptr<wire::Tls>> serving_;
  const std::shared_ptr<std::set<std::string, std::less<>>> kept_out_ =
      std::make_shared<std::set<std::string, std::less<>>>();  // names of nodes
  wire::Credentials own_;
  std::string uri_;  // of the certificate: "dove://CLUSTER/node/NAME"
};

}  // namespace dove::agent
