#include "server/executors/output_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "listener/open_access.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using listener::CallPtr;
using namespace std::chrono_literals;

constexpr std::size_t kBufferedMax = 1 << 20;  // not yet taken by the reader
constexpr std::size_t kWhyBytesMax = 4 << 10;
// Between two looks at a file that is followed; longer and longer while nothing comes.
constexpr std::chrono::milliseconds kLookAgain{500};
constexpr std::chrono::milliseconds kLookAgainMax{2000};

// The last lines of what is there.
std::string_view last_lines(std::string_view text, std::int64_t lines) {
  std::size_t begin = text.size();
  std::int64_t ends = text.ends_with('\n') ? -1 : 0;
  if (lines == 0) return {};
  while (begin > 0) {
    if (text[begin - 1] == '\n' && ++ends >= lines) break;
    --begin;
  }
  return text.substr(begin);
}

Json part_json(const std::string& name, const OutputFile& file, std::int64_t offset,
               std::int64_t most) {
  return {{"part", name},      {"user", file.user}, {"workdir", file.workdir},
          {"path", file.path}, {"offset", offset},  {"most", most}};
}

}  // namespace

class OutputReads::Reader : public std::enable_shared_from_this<Reader> {
 public:
  Reader(OutputReads& all, CallPtr call, OutputFile read, const backends::LogRequest& request)
      : file(std::move(read)),
        user(call->caller.user),
        all_(all),
        call_(std::move(call)),
        request_(request),
        begun_us_(all.desk_.loop.monotonic_us()) {}

  void begin() {
    access_ = all_.desk_.open_access->hold(call_->caller, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->access_ended();
    });
    ask();
  }

  // The adapter has what it is to read, or has to take it soon.
  Json words() const {
    const bool at_tail = request_.tail_lines >= 0;
    return part_json(part, file, at_tail ? -kTailBytes : request_.offset,
                     at_tail ? kTailBytes : kPartBytes);
  }

  // `offset`: of the bytes, in the file. `size`: of the file then; -1: a former adapter does not
  // say it. `at_end`: there is no more at the moment.
  void take(std::string_view bytes, std::int64_t offset, std::int64_t size, bool at_end) {
    const auto self = shared_from_this();
    if (request_.tail_lines < 0 && size >= 0 && size < request_.offset) return fail(shrunk(size));
    if (first_size_ < 0) first_size_ = size;
    request_.offset = offset + static_cast<std::int64_t>(bytes.size());
    if (request_.tail_lines >= 0) {
      bytes = last_lines(bytes, std::exchange(request_.tail_lines, -1));
    }
    open();
    const bool has_come = !bytes.empty();
    // A task may write faster than this reads.
    at_end = at_end || (!request_.follow && size >= 0 && request_.offset >= first_size_);
    if (has_come && !out_->write(bytes)) return all_.drop(*self);
    if (!at_end) return again(0ms);
    // Each look is a process that the adapter makes.
    pause_ = has_come ? kLookAgain : std::min(pause_ * 2, kLookAgainMax);
    if (request_.follow && !was_over_) return again(pause_);
    all_.drop(*self);
    out_->close();
  }

  void take_error(const std::string& code, const std::string& why) {
    const auto self = shared_from_this();
    // It is made once the tasks begin, which may be after this reader did.
    const std::int64_t age_us = all_.desk_.loop.monotonic_us() - begun_us_;
    const bool may_come = code == "no_output_file" && request_.follow && !was_over_;
    if (may_come && age_us < std::chrono::microseconds(kPatience).count()) return again(kLookAgain);
    const bool may_pass = code == "output_unreachable" || code == "users_away";
    const ErrorKind kind = may_pass ? ErrorKind::kUnavailable : ErrorKind::kConflict;
    fail(Error{kind, code,
               fmt::format("{}; executor {} runs job {} on node {}, and its output lies there "
                           "unless that machine and the node share a file system",
                           why, file.executor, request_.job.value, file.node),
               ""});
  }

  // What did not come may be most of it: that must not look like the end.
  void fail(const Error& error) {
    const auto self = shared_from_this();
    all_.drop(*self);
    if (out_ != nullptr) return out_->cut();
    call_->fail(error);
  }

  const OutputFile file;
  const std::string user;  // who reads
  std::string part;        // that is asked for; "": none
  wire::Timer timer;

 private:
  void ask() {
    if (call_ != nullptr && !call_->responder->peer_alive()) return all_.drop(*this);
    if (out_ != nullptr && out_->buffered_bytes() > kBufferedMax) return again(100ms);
    was_over_ = is_over();
    all_.ask(shared_from_this());
  }

  void again(std::chrono::milliseconds wait) {
    if (wait == 0ms && (out_ == nullptr || out_->buffered_bytes() <= kBufferedMax)) return ask();
    timer = all_.desk_.loop.after(std::max(wait, 100ms), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->ask();
    });
  }

  // Whether its tasks write no more.
  bool is_over() const {
    const core::Job* job = all_.desk_.state().find_job(request_.job);
    if (job == nullptr) return true;
    const auto same = [&](const core::Attempt& one) { return one.number == request_.attempt; };
    const auto attempt = std::find_if(job->attempts.begin(), job->attempts.end(), same);
    return attempt == job->attempts.end() || attempt->stage == Stage::kEnded;
  }

  Error shrunk(std::int64_t size) const {
    return Error{
        ErrorKind::kConflict, "output_truncated",
        fmt::format("{} of job {} has {} bytes, and what is asked for begins after {}: it was "
                    "truncated meanwhile, or `offset` is too large",
                    file.path, request_.job.value, size, request_.offset),
        ""};
  }

  void open() {
    if (out_ != nullptr) return;
    out_ = call_->responder->stream(200, {{"Content-Type", "text/plain; charset=utf-8"}});
    out_->on_closed([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->all_.drop(*self);
    });
  }

  void access_ended() {
    const auto self = shared_from_this();
    if (out_ == nullptr) {
      return fail(Error{ErrorKind::kUnauthenticated, "access_ended",
                        "the key has ended, or its user may no longer call", ""});
    }
    all_.drop(*self);
    out_->close();
  }

  OutputReads& all_;
  const CallPtr call_;
  backends::LogRequest request_;
  const std::int64_t begun_us_;
  std::chrono::milliseconds pause_ = kLookAgain;
  std::int64_t first_size_ = -1;  // of the file at its first part
  bool was_over_ = false;         // when the part was asked for
  std::shared_ptr<wire::Outflow> out_;
  std::shared_ptr<const listener::OpenAccess::Held> access_;
};

void OutputReads::read(CallPtr call, OutputFile file, const backends::LogRequest& request) {
  const auto of_caller = [&](const auto& one) { return one->user == call->caller.user; };
  if (std::count_if(readers_.begin(), readers_.end(), of_caller) >= kOfCallerMax) {
    return call->fail(Error{ErrorKind::kUnavailable, "too_many_readers",
                            fmt::format("{} reads {} outputs by executors already; end some first",
                                        call->caller.user, kOfCallerMax),
                            ""});
  }
  const auto of_it = [&](const auto& one) { return one->file.executor == file.executor; };
  const auto count = std::count_if(readers_.begin(), readers_.end(), of_it);
  if (static_cast<std::size_t>(count) >= kReadersMax) {
    return call->fail(Error{ErrorKind::kUnavailable, "too_many_readers",
                            fmt::format("{} others read output by executor {} now; try again later",
                                        count, file.executor),
                            ""});
  }
  const auto reader = std::make_shared<Reader>(*this, std::move(call), std::move(file), request);
  readers_.insert(reader);
  reader->begin();
}

// Its name is one that nobody can guess: an adapter that was told by a controller of before sends
// another file.
void OutputReads::ask(const std::shared_ptr<Reader>& reader) {
  reader->part = wire::random_token(16);
  parts_[reader->part] = reader;
  await_adapter(reader);
  Adapter& adapter = adapters_[reader->file.executor];
  adapter.asked.push_back(reader->part);
  tell(adapter);
}

void OutputReads::await_adapter(const std::shared_ptr<Reader>& reader) {
  reader->timer = desk_.loop.after(kPatience, [weak = std::weak_ptr(reader)] {
    const auto late = weak.lock();
    if (late == nullptr) return;
    late->fail(Error{ErrorKind::kUnavailable, "executor_silent",
                     fmt::format("the adapter of executor {} has not sent the output within {} s: "
                                 "it is away, or of a former version",
                                 late->file.executor, kPatience.count()),
                     ""});
  });
}

void OutputReads::tell(Adapter& adapter) {
  if (adapter.waiting == nullptr || adapter.asked.empty()) return;
  adapter.deadline.cancel();
  const CallPtr call = std::exchange(adapter.waiting, nullptr);
  if (!call->responder->peer_alive()) return;
  const auto reader = parts_.at(adapter.asked.front());
  adapter.asked.pop_front();
  await_adapter(reader);
  call->reply(200, Json{{"read", reader->words()}});
}

void OutputReads::take(const std::string& executor, const listener::Call& call) {
  const auto found = parts_.find(call.query_text("part"));
  if (found == parts_.end() || found->second->file.executor != executor) return;
  const std::shared_ptr<Reader> reader = found->second;
  parts_.erase(found);
  reader->part.clear();
  reader->timer.cancel();
  const std::string code = call.query_text("error");
  if (!code.empty()) {
    return reader->take_error(code.substr(0, 64), call.request.body.substr(0, kWhyBytesMax));
  }
  const Result<std::int64_t> offset = call.query_number("offset", 0, 0, INT64_MAX / 2);
  const Result<std::int64_t> size = call.query_number("size", -1, 0, INT64_MAX / 2);
  reader->take(call.request.body, offset.ok() ? *offset : 0, size.ok() ? *size : -1,
               call.query_flag("end"));
}

void OutputReads::exchange(const std::string& executor, CallPtr call, std::chrono::seconds wait) {
  take(executor, *call);
  Adapter& adapter = adapters_[executor];
  if (adapter.waiting != nullptr) adapter.waiting->reply(200, Json{{"read", nullptr}});
  adapter.waiting = std::move(call);
  tell(adapter);
  if (adapter.waiting == nullptr) return;
  const auto answer = [this, executor] {
    Adapter& late = adapters_[executor];
    if (late.waiting == nullptr) return;
    std::exchange(late.waiting, nullptr)->reply(200, Json{{"read", nullptr}});
  };
  if (desk_.stopping() || wait == 0s) return answer();
  adapter.deadline = desk_.loop.after(wait, answer);
}

void OutputReads::drop(Reader& reader) {
  reader.timer.cancel();
  if (!reader.part.empty()) {
    std::erase(adapters_[reader.file.executor].asked, reader.part);
    parts_.erase(reader.part);
    reader.part.clear();
  }
  readers_.erase(reader.shared_from_this());
}

void OutputReads::close_all() {
  const Error stops{ErrorKind::kUnavailable, "stopping", "this controller stops; ask again", ""};
  for (const auto& reader : std::set(readers_)) reader->fail(stops);
  for (auto& [executor, adapter] : adapters_) {
    if (adapter.waiting == nullptr) continue;
    adapter.deadline.cancel();
    std::exchange(adapter.waiting, nullptr)->reply(200, Json{{"read", nullptr}});
  }
}

}  // namespace dove::server
