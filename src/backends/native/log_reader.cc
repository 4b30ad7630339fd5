#include "backends/native/log_reader.h"

#include "protocol/control.h"

namespace dove::backends {
namespace {

constexpr std::size_t kTailBytesMax = 4 << 20;

// The last lines of a stream of bytes.
class Tail {
 public:
  explicit Tail(std::int64_t lines) : lines_max_(static_cast<std::size_t>(lines)) {}

  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
      if (lines_.empty() || lines_.back().ends_with('\n')) lines_.emplace_back();
      lines_.back() += piece;
      bytes_ += piece.size();
      bytes.remove_prefix(piece.size());
      while (lines_.size() > lines_max_ || (bytes_ > kTailBytesMax && lines_.size() > 1)) {
        bytes_ -= lines_.front().size();
        lines_.pop_front();
      }
      if (bytes_ > 2 * kTailBytesMax) {  // of one line, its end
        lines_.front().erase(0, bytes_ - kTailBytesMax);
        bytes_ = kTailBytesMax;
      }
    }
  }
  std::string text() const {
    std::string text;
    for (const std::string& line : lines_) text += line;
    return text;
  }

 private:
  std::size_t lines_max_;
  std::size_t bytes_ = 0;
  std::deque<std::string> lines_;
};

class LogStream : public std::enable_shared_from_this<LogStream> {
 public:
  LogStream(LogRequest request, Relays& relays, AgentSessions& sessions)
      : request_(request), relays_(relays), sessions_(sessions), tail_(request.tail_lines) {}

  void begin(listener::Call& call, listener::OpenAccess& access) {
    out_ = call.responder->stream(200, {{"Content-Type", "text/plain; charset=utf-8"}});
    // The stream owns this until it is over.
    out_->on_closed([self = shared_from_this()] { self->reader_gone(); });
    access_ = access.hold(call.caller, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->reader_gone();
        self->out_->close();
      }
    });
    in_tail_ = request_.tail_lines >= 0;
    ask(in_tail_ ? false : request_.follow);
  }

 private:
  void ask(bool follow) {
    RelayReader reader;
    reader.nodes.insert(request_.node);
    const std::weak_ptr<LogStream> weak = weak_from_this();
    reader.on_chunk = [weak](const listener::Call& chunk, bool end) {
      if (const auto self = weak.lock()) self->take(chunk.request.body, end);
    };
    reader.waiting_bytes = [weak] {
      const auto self = weak.lock();
      return self == nullptr ? 0 : self->out_->buffered_bytes();
    };
    reader.on_node_gone = [weak](NodeId) {
      if (const auto self = weak.lock()) self->break_off();
    };
    reader.on_broken = [weak] {
      if (const auto self = weak.lock()) self->break_off();
    };
    relay_ = relays_.open(std::move(reader));
    protocol::Control line;
    line.relay = protocol::RelayOrder{relay_,          {request_.job, request_.attempt},
                                      request_.rank,   request_.is_stderr ? "stderr" : "stdout",
                                      request_.offset, follow,
                                      request_.apart};
    sessions_.send(request_.node, protocol::control_line(line));
  }

  void take(const std::string& bytes, bool end) {
    request_.offset += static_cast<std::int64_t>(bytes.size());
    if (in_tail_) {
      tail_.add(bytes);
    } else if (!bytes.empty()) {
      out_->write(bytes);
    }
    if (!end) return;
    if (in_tail_) {
      in_tail_ = false;
      out_->write(tail_.text());
      if (request_.follow) {
        relays_.close(relay_);
        return ask(true);
      }
    }
    finish();
  }

  void finish() {
    relays_.close(relay_);
    const auto self = shared_from_this();  // close() drops what owns this
    out_->close();
  }

  // What the node did not send may be most of it: that must not look like the end of the output.
  void break_off() {
    relays_.close(relay_);
    const auto self = shared_from_this();  // cut() drops what owns this
    out_->cut();
  }

  void reader_gone() {
    relays_.close(relay_);
    protocol::Control line;
    line.relay_end = protocol::RelayEnd{relay_};
    sessions_.send(request_.node, protocol::control_line(line));
  }

  LogRequest request_;
  Relays& relays_;
  AgentSessions& sessions_;
  Tail tail_;
  bool in_tail_ = false;
  std::string relay_;
  std::shared_ptr<wire::Outflow> out_;
  std::shared_ptr<const listener::OpenAccess::Held> access_;
};

}  // namespace

void stream_log(CallPtr call, const LogRequest& request, Relays& relays, AgentSessions& sessions,
                listener::OpenAccess& access) {
  std::make_shared<LogStream>(request, relays, sessions)->begin(*call, access);
}

}  // namespace dove::backends
