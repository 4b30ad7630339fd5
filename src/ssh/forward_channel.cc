#include "ssh/forward_channel.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "protocol/link_words.h"
#include "wire/http.h"

namespace dove::ssh {
namespace {

constexpr std::size_t kWordBytesMax = 1 << 20;

ForwardChannel* self(void* data) { return static_cast<ForwardChannel*>(data); }

}  // namespace

bool is_task_itself(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == "ip6-localhost";
}

ForwardChannel::ForwardChannel(const Host& host, ssh_channel channel, int port,
                               std::function<void()> over)
    : host_(host), channel_(channel), over_(std::move(over)), pipe_(channel) {
  listen();
  wire::WebSocketCallbacks callbacks;
  callbacks.on_text = [this](std::string_view text) { hear(text); };
  callbacks.on_bytes = [this](std::string_view message) {
    if (!pipe_.hear_piece(message)) is_broken_ = true;
    finish();
  };
  callbacks.on_closed = [this](const Error&) {
    is_broken_ = true;
    finish();
  };
  std::string target =
      fmt::format("/v1/jobs/{}/forward?port={}", wire::percent_encode(host.where.job), port);
  if (!host.where.task.empty()) target += "&task=" + wire::percent_encode(host.where.task);
  socket_ = host.server.open(host.loop, host.token, target, std::move(callbacks));
}

ForwardChannel::~ForwardChannel() {
  ssh_remove_channel_callbacks(channel_, &callbacks_);
  ssh_channel_free(channel_);
}

void ForwardChannel::listen() {
  callbacks_.userdata = this;
  callbacks_.channel_data_function = [](ssh_session, ssh_channel, void* data, std::uint32_t size,
                                        int is_stderr, void* own) {
    if (is_stderr != 0) return static_cast<int>(size);
    return self(own)->pipe_.take({static_cast<const char*>(data), size});
  };
  callbacks_.channel_eof_function = [](ssh_session, ssh_channel, void* own) {
    self(own)->pipe_.client_ended();
  };
  callbacks_.channel_close_function = [](ssh_session, ssh_channel, void* own) {
    if (std::exchange(self(own)->is_over_, true)) return;
    self(own)->end();
  };
  callbacks_.channel_write_wontblock_function = [](ssh_session, ssh_channel, std::uint32_t,
                                                   void* own) {
    self(own)->pipe_.write_some();
    self(own)->finish();
    return 0;
  };
  ssh_callbacks_init(&callbacks_);
  ssh_set_channel_callbacks(channel_, &callbacks_);
}

void ForwardChannel::hear(std::string_view text) {
  const Result<protocol::LinkWord> said = protocol::read_link_word(text, kWordBytesMax);
  if (!said.ok()) return;
  if (said->begun) {
    pipe_.join(*socket_);
  } else if (said->took) {
    if (!pipe_.hear_took(*said->took)) is_broken_ = true;
  } else if (said->end) {
    task_ended_ = true;
  } else if (said->over || said->error) {
    is_broken_ = true;
  }
  finish();
}

// Behind all that came from the task.
void ForwardChannel::finish() {
  if (!is_over_ && pipe_.all_written()) {
    if ((task_ended_ || is_broken_) && !std::exchange(eof_told_, true)) {
      ssh_channel_send_eof(channel_);
    }
    if (is_broken_) {
      is_over_ = true;
      end();
    }
  }
  host_.has_written();
}

void ForwardChannel::end() {
  ssh_channel_close(channel_);
  pipe_.leave();
  timer_ = host_.loop.after(std::chrono::microseconds(0), [over = over_] { over(); });
}

}  // namespace dove::ssh
