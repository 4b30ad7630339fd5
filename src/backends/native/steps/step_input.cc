#include "backends/native/steps/step_input.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace dove::backends {

StepInput::StepInput(wire::Loop& loop, const std::set<NodeId>& nodes) : loop_(loop) {
  for (const NodeId node : nodes) taken_[node] = 0;
}

StepInput::~StepInput() {
  const Error over{ErrorKind::kNotFound, "step_over", "the step is over and takes no input", ""};
  if (writer_ != nullptr) writer_->fail(over);
  for (const auto& [node, call] : readers_) call->fail(over);
}

std::int64_t StepInput::behind() const {
  return offset_ + static_cast<std::int64_t>(piece_.size());
}

std::int64_t StepInput::taken() const {
  std::int64_t least = behind();
  for (const auto& [node, bytes] : taken_) least = std::min(least, bytes);
  return least;
}

void StepInput::write(CallPtr call, std::int64_t offset, bool end) {
  const std::string& body = call->request.body;
  if (body.size() > kPiece_bytes || (end && !body.empty())) {
    return call->fail(Error{ErrorKind::kTooLarge, "piece_too_large",
                            "a piece of input has at most 64 KiB, its end none", "body"});
  }
  if (fresh_) offset_ = offset;
  fresh_ = false;
  if (offset > behind() || (end_ && !end)) {
    return call->fail(listener::invalid(
        "offset_too_large", "the pieces of the input come one behind the other", "offset"));
  }
  if (writer_ != nullptr)
    writer_->fail(
        Error{ErrorKind::kConflict, "another_writer", "somebody else writes the step's input", ""});
  // What comes again is taken by its part that is not known yet.
  if (end) {
    end_ = true;
  } else if (offset + static_cast<std::int64_t>(body.size()) > behind() &&
             (piece_.empty() || taken() >= offset)) {
    offset_ = offset;
    piece_ = body;
  }
  writer_ = std::move(call);
  writer_timer_ = loop_.after(kHeld, [this] { answer_writer(); });
  serve();
}

void StepInput::read(CallPtr call, std::int64_t offset) {
  const NodeId node = call->caller.node;
  const auto known = taken_.find(node);
  if (known == taken_.end()) {
    return call->fail(Error{ErrorKind::kNotFound, "step_over", "nobody writes this input", ""});
  }
  known->second = std::max(known->second, offset);
  if (const auto former = readers_.find(node); former != readers_.end()) {
    former->second->responder->send(wire::Response{204, {}, ""});
  }
  readers_[node] = std::move(call);
  reader_timer_ = loop_.after(kHeld, [this] { answer_readers(/*also_empty=*/true); });
  serve();
}

void StepInput::node_done(NodeId node) {
  taken_.erase(node);
  readers_.erase(node);
  serve();
}

void StepInput::serve() {
  answer_readers(/*also_empty=*/false);
  const bool all_know = std::all_of(taken_.begin(), taken_.end(), [this](const auto& each) {
    return told_end_.count(each.first) != 0;
  });
  if (taken() >= behind() && (!end_ || all_know)) answer_writer();
}

void StepInput::answer_writer() {
  if (writer_ == nullptr) return;
  std::exchange(writer_, nullptr)->reply(200, nlohmann::json{{"taken", taken()}});
}

void StepInput::answer_readers(bool also_empty) {
  for (auto each = readers_.begin(); each != readers_.end();) {
    const auto [node, call] = *each;
    const std::int64_t from = taken_.at(node);
    const bool has = from >= offset_ && from < behind();
    const bool at_end = end_ && from >= behind();
    if (!has && !at_end && !also_empty) {
      ++each;
      continue;
    }
    wire::Response answer{has ? 200 : 204, {}, ""};
    if (has) answer.body = piece_.substr(static_cast<std::size_t>(from - offset_));
    if (at_end) answer.headers.emplace_back("Dove-End", "1");
    if (at_end) told_end_.insert(node);
    call->responder->send(std::move(answer));
    each = readers_.erase(each);
  }
}

}  // namespace dove::backends
