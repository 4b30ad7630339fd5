// The fields of control lines. Include only from .cc files.
#pragma once

#include "protocol/archive.h"
#include "protocol/control.h"

namespace dove::protocol {

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Signal>& v) {
  fields(ar, v.key);
  ar.may("step", v.step);
  ar.may("signal", v.number);
  ar.may("batch_only", v.batch_only);
  ar.may("steps_only", v.steps_only);
}

// Within its step a task has no group.
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<TaskGrant>& v) {
  ar.must("rank", v.rank);
  ar.may("local_rank", v.local_rank);
  ar.may("cores", v.cores);
  ar.may("grants", v.devices);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<StepOrder>& v) {
  ar.must("id", v.relay_id);
  fields(ar, v.key);
  ar.must("step", v.step);
  ar.must("tasks", v.tasks);
  ar.may("devices_given", v.devices_given);
  ar.may("memory_bytes", v.memory_bytes);
  ar.must("tasks_total", v.tasks_total);
  ar.must("nodes", v.nodes);
  ar.may("tasks_per_node", v.tasks_per_node);
  ar.may("node_rank", v.node_rank);
  ar.must("command", v.command);
  ar.may("environment", v.environment);
  ar.may("workdir", v.workdir);
  if (Ar::kReads || !v.container.image.empty() || !v.container.name.empty())
    ar.may("container", v.container);
  ar.may("stdout_path", v.stdout_path);
  ar.may("stderr_path", v.stderr_path);
  ar.may("stdin", v.stdin_text);
  ar.may("stdin_rank", v.stdin_rank);
  ar.may("each_exit", v.each_exit);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<SeenOutput>& v) {
  ar.must("rank", v.rank);
  ar.may("stream", v.stream);
  ar.must("bytes", v.bytes);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<StepAttach>& v) {
  ar.must("id", v.relay_id);
  fields(ar, v.key);
  ar.must("step", v.step);
  ar.must("ranks", v.ranks);
  ar.may("stdout_path", v.stdout_path);
  ar.may("stderr_path", v.stderr_path);
  ar.may("seen", v.seen);
  ar.may("each_exit", v.each_exit);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ExecProgram>& v) {
  ar.must("command", v.command);
  ar.may("environment", v.environment);
  ar.may("workdir", v.workdir);
  ar.may("terminal", v.terminal);
  ar.may("input", v.input);
  ar.may("rows", v.rows);
  ar.may("columns", v.columns);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ExecOrder>& v) {
  ar.must("id", v.id);
  fields(ar, v.key);
  ar.must("rank", v.rank);
  fields(ar, v.program);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ForwardOrder>& v) {
  ar.must("id", v.id);
  fields(ar, v.key);
  ar.must("rank", v.rank);
  ar.may("port", v.port);
  ar.may("socket", v.socket);
  ar.may("looks_only", v.looks_only);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<RelayOrder>& v) {
  ar.must("id", v.id);
  fields(ar, v.key);
  ar.may("rank", v.rank);
  ar.may("stream", v.stream);
  ar.may("offset", v.offset);
  ar.may("follow", v.follow);
  ar.may("apart", v.apart);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<RelayEnd>& v) {
  ar.must("id", v.id);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Control>& v) {
  if (Ar::kReads || !v.forget.empty()) ar.may("forget", v.forget);
  ar.may("signal", v.signal);
  ar.may("step", v.step);
  ar.may("step_attach", v.step_attach);
  ar.may("exec", v.exec);
  ar.may("forward", v.forward);
  ar.may("relay", v.relay);
  ar.may("relay_end", v.relay_end);
  ar.may("expelled", v.expelled);
  ar.may("ping", v.ping);
  if (Ar::kReads || v.bye) ar.may("bye", v.bye);
  if (Ar::kReads || v.bye || v.ping.has_value()) {
    ar.may("epoch", v.epoch);
    ar.may("proof", v.proof);
  }
}

}  // namespace dove::protocol
