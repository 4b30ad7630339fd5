#include "ssh/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "ssh/forward_channel.h"
#include "ssh/host.h"
#include "ssh/keys/public_key.h"
#include "ssh/session_channel.h"
#include "telemetry/log.h"

namespace dove::ssh {
namespace {

constexpr int kRoundsMax = 256;  // of libssh's loop before ours goes on
constexpr std::size_t kBannerBytesMax = 1024;

// Without the kinds that are slow or weak; each has been OpenSSH's for ten years.
constexpr char kCiphers[] = "aes256-gcm@openssh.com,aes128-gcm@openssh.com";
constexpr char kKeyExchanges[] =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521";
constexpr char kUserKeys[] =
    "ssh-ed25519,sk-ssh-ed25519@openssh.com,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,"
    "ecdsa-sha2-nistp521,sk-ecdsa-sha2-nistp256@openssh.com,rsa-sha2-512,rsa-sha2-256";

std::string line_of(ssh_key key) {
  char* body = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &body) != SSH_OK) return "";
  const std::string line = fmt::format("{} {}", ssh_key_type_to_char(ssh_key_type(key)), body);
  ssh_string_free_char(body);
  return line;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kBannerBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(byte >= 0x20 && byte != 0x7F ? c : ' ');
  }
  return out;
}

class Connection {
 public:
  Connection(const ServerLink& server, const ConnectionSettings& settings,
             const std::function<void()>& signed_in)
      : settings_(settings),
        signed_in_(signed_in),
        session_(ssh_new()),
        event_(ssh_event_new()),
        host_{loop_, server, {}, "", [this] { look_at_output(); }} {}

  ~Connection() {
    sessions_.clear();
    forwards_.clear();
    read_watch_.cancel();
    write_watch_.cancel();
    if (write_fd_ >= 0) ::close(write_fd_);
    if (is_added_) ssh_event_remove_session(event_, session_);
    ssh_disconnect(session_);
    ssh_free(session_);
    ssh_event_free(event_);
    if (bind_ != nullptr) ssh_bind_free(bind_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void run() {
    if (!accept()) return;
    read_watch_ = loop_.watch_readable(settings_.fd, [this] { pump(); });
    sign_in_timer_ = loop_.after(settings_.limits.to_sign_in, [this] { loop_.stop(); });
    pump();
    loop_.run();
  }

 private:
  bool accept() {
    bind_ = ssh_bind_new();
    const bool no = false;
    ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_PROCESS_CONFIG, &no);
    ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_HOSTKEY, settings_.host_key_path.c_str());
    ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_BANNER, "dove");
    for (const auto option : {SSH_BIND_OPTIONS_CIPHERS_C_S, SSH_BIND_OPTIONS_CIPHERS_S_C}) {
      ssh_bind_options_set(bind_, option, kCiphers);
    }
    ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_KEY_EXCHANGE, kKeyExchanges);
    ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_PUBKEY_ACCEPTED_KEY_TYPES, kUserKeys);
    if (ssh_bind_accept_fd(bind_, session_, settings_.fd) != SSH_OK) {
      telemetry::log(telemetry::Level::kError, "cannot_serve", {{"why", ssh_get_error(bind_)}});
      return false;
    }
    ssh_set_blocking(session_, 0);
    ssh_set_auth_methods(session_, SSH_AUTH_METHOD_PUBLICKEY);
    listen();
    write_fd_ = ::fcntl(settings_.fd, F_DUPFD_CLOEXEC, 3);
    return true;
  }

  static Connection* self(void* own) { return static_cast<Connection*>(own); }

  void listen() {
    callbacks_.userdata = this;
    callbacks_.auth_pubkey_function = [](ssh_session, const char* user, ssh_key key, char state,
                                         void* own) {
      const bool is_in = self(own)->hear_key(user, key, state);
      return static_cast<int>(is_in ? SSH_AUTH_SUCCESS : SSH_AUTH_DENIED);
    };
    callbacks_.channel_open_request_session_function = [](ssh_session, void* own) {
      return self(own)->open_session();
    };
    ssh_callbacks_init(&callbacks_);
    ssh_set_server_callbacks(session_, &callbacks_);
    ssh_set_message_callback(
        session_,
        [](ssh_session, ssh_message message, void* own) {
          return self(own)->hear_message(message) ? 0 : 1;
        },
        this);
  }

  // Lets libssh take what has come; it calls us from in here.
  void pump() {
    if (std::exchange(is_pumping_, true)) return;
    if (!is_added_) exchange_keys();
    for (int i = 0; is_added_ && i < kRoundsMax; ++i) {
      const int done = ssh_event_dopoll(event_, 0);
      if (done == SSH_ERROR) loop_.stop();
      if (done != SSH_OK) break;
    }
    is_pumping_ = false;
    for (const auto& [id, session] : sessions_) session->resume();
    for (const auto& [id, forward] : forwards_) forward->resume();
    const bool is_closed = (ssh_get_status(session_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0 ||
                           ssh_is_connected(session_) == 0;
    if (is_added_ && is_closed) {
      loop_.stop();
    }
    look_at_output();
  }

  void exchange_keys() {
    const int done = ssh_handle_key_exchange(session_);
    if (done == SSH_ERROR) return loop_.stop();
    if (done != SSH_OK) return;
    is_added_ = ssh_event_add_session(event_, session_) == SSH_OK;
    if (!is_added_) loop_.stop();
  }

  // What libssh could not yet write to the socket.
  void look_at_output() {
    const bool waits = (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0;
    if (waits == is_writing_) return;
    is_writing_ = waits;
    if (waits) {
      write_watch_ = loop_.watch_writable(write_fd_, [this] { pump(); });
    } else {
      write_watch_.cancel();
    }
  }

  // An offer is answered with yes whoever it is: so nobody learns which keys are known here.
  bool hear_key(const char* user, ssh_key key, char state) {
    if (!host_.token.empty() || ++offers_ > settings_.limits.offers_max) return false;
    const Result<EntryName> where = read_entry_name(user);
    if (!where.ok()) return refuse(where.error());
    const Result<PublicKey> shown = read_public_key(line_of(key));
    if (!shown.ok()) return refuse(shown.error());
    if (state == SSH_PUBLICKEY_STATE_NONE) return true;
    if (state != SSH_PUBLICKEY_STATE_VALID) return false;
    if (++tries_ > settings_.limits.tries_max) {
      loop_.stop();
      return false;
    }
    Result<Entry> entry = host_.server.sign_in(shown->line(), where->job, settings_.address);
    if (!entry.ok()) return refuse(entry.error());
    host_.where = *where;
    host_.token = entry->token;
    sign_in_timer_.cancel();
    signed_in_();
    telemetry::log(telemetry::Level::kInfo, "signed_in",
                   {{"user", entry->user}, {"job", where->job}, {"address", settings_.address}});
    return true;
  }

  bool refuse(const Error& why) {
    telemetry::log(telemetry::Level::kInfo, "refused",
                   {{"code", why.code}, {"address", settings_.address}});
    if (told_ == why.message) return false;
    told_ = why.message;
    const ssh_string text =
        ssh_string_from_char(fmt::format("dove: {}\r\n", printable(told_)).c_str());
    ssh_send_issue_banner(session_, text);
    ssh_string_free(text);
    return false;
  }

  bool may_open() const {
    return !host_.token.empty() &&
           sessions_.size() + forwards_.size() < settings_.limits.channels_max;
  }

  ssh_channel open_session() {
    if (!may_open()) return nullptr;
    const ssh_channel channel = ssh_channel_new(session_);
    if (channel == nullptr) return nullptr;
    const std::uint64_t id = next_++;
    sessions_[id] =
        std::make_unique<SessionChannel>(host_, channel, [this, id] { sessions_.erase(id); });
    return channel;
  }

  // True: it was answered. What else is asked for is refused by libssh.
  bool hear_message(ssh_message message) {
    const bool is_forward = ssh_message_type(message) == SSH_REQUEST_CHANNEL_OPEN &&
                            ssh_message_subtype(message) == SSH_CHANNEL_DIRECT_TCPIP;
    if (!is_forward || !may_open()) return false;
    const char* to = ssh_message_channel_request_open_destination(message);
    const int port = ssh_message_channel_request_open_destination_port(message);
    if (to == nullptr || !is_task_itself(to) || port < 1 || port > 65'535) return false;
    const ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
    if (channel == nullptr) return true;
    const std::uint64_t id = next_++;
    forwards_[id] =
        std::make_unique<ForwardChannel>(host_, channel, port, [this, id] { forwards_.erase(id); });
    return true;
  }

  const ConnectionSettings& settings_;
  const std::function<void()>& signed_in_;
  wire::Loop loop_;
  ssh_bind bind_ = nullptr;
  const ssh_session session_;
  const ssh_event event_;
  ssh_server_callbacks_struct callbacks_{};
  Host host_;
  bool is_added_ = false;  // to the event: keys were exchanged
  bool is_pumping_ = false;
  bool is_writing_ = false;
  int write_fd_ = -1;
  wire::FdWatch read_watch_;
  wire::FdWatch write_watch_;
  wire::Timer sign_in_timer_;
  int offers_ = 0;
  int tries_ = 0;
  std::string told_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::unique_ptr<SessionChannel>> sessions_;
  std::map<std::uint64_t, std::unique_ptr<ForwardChannel>> forwards_;
};

}  // namespace

void serve_connection(const ServerLink& server, const ConnectionSettings& settings,
                      const std::function<void()>& signed_in) {
  Connection(server, settings, signed_in).run();
}

}  // namespace dove::ssh
