// The mark of the gate: the administrator's comment of a job of a gated partition, which its user
// cannot set. deploy/slurm/job_submit.lua writes it first, deploy/slurm/prolog.sh reads the place.
//
// "dovetail-gate run=17.2 restarts=0 gpus=n[1-2]:0,1/n4:7 seen user_hold model=h200 nodes=n[1-2]".
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dove::slurm {

struct GateMark {
  bool user_hold = false;
  std::string model;     // of its GPUs; "": any
  std::int64_t job = 0;  // of the ledger, whose attempt is this start; 0: it has no place
  std::int64_t attempt = 0;
  int restarts = -1;  // the place is for the start after that many restarts
  // The devices of its place, by index, for the prolog: "n[1-2]:0,1/n4:7". "": it compares none.
  std::string gpus = {};
  bool is_seen = false;  // the ledger has heard that it began in that place
  // The nodes that its user named, once a place has been written over them; "": none.
  std::optional<std::string> nodes;
  bool operator==(const GateMark&) const = default;
};

bool is_of_gate(std::string_view comment);
// The word `gpus` of these devices, by node; "" if there are none, or too many for a comment.
std::string write_gpus(const std::map<std::string, std::vector<int>>& devices);
// What is not understood is passed over: then it has no place.
GateMark read_mark(std::string_view comment);
std::string write_mark(const GateMark& mark);

}  // namespace dove::slurm
