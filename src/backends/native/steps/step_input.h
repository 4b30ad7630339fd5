// StepInput: the standard input of a step, on its way from the step's client to its nodes.
//
// The client posts one piece at a time. Every node of the step asks for what follows the part that
// it has passed on to its tasks. A piece is answered when all nodes have taken it, so nothing
// accumulates, and a piece that is posted again because its answer was lost does no harm. No call
// waits for longer than kHeld: it is then answered with the present state, and repeated. Loop
// thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "backends/node_backend.h"
#include "listener/call.h"
#include "model/ids.h"
#include "wire/loop.h"

namespace dove::backends {

class StepInput {
 public:
  static constexpr std::size_t kPiece_bytes = 64 << 10;

  StepInput(wire::Loop& loop, const std::set<NodeId>& nodes);
  ~StepInput();

  // The client's: its body stands at `offset` of the input; with `end` it is empty, and what is
  // before it was all. The first piece may stand anywhere: a former server took what is before it.
  // Answers {"taken": N}: all nodes have taken N bytes.
  void write(CallPtr call, std::int64_t offset, bool end);
  // A node's: answers with what stands at `offset`, to which it has taken all. 204: nothing yet;
  // the header Dove-End: there is no more.
  void read(CallPtr call, std::int64_t offset);
  // It takes no more, and nobody waits for it.
  void node_done(NodeId node);

 private:
  static constexpr std::chrono::seconds kHeld{8};

  std::int64_t taken() const;  // by all nodes
  void serve();
  std::int64_t behind() const;  // piece_
  void answer_writer();
  void answer_readers(bool also_empty);

  wire::Loop& loop_;
  std::map<NodeId, std::int64_t> taken_;  // of nodes that still take some
  bool fresh_ = true;                     // nobody has written: the first piece stands anywhere
  std::int64_t offset_ = 0;               // of piece_
  std::string piece_;
  bool end_ = false;  // nothing comes behind piece_
  std::set<NodeId> told_end_;
  CallPtr writer_;
  std::map<NodeId, CallPtr> readers_;
  wire::Timer writer_timer_;
  wire::Timer reader_timer_;
};

}  // namespace dove::backends
