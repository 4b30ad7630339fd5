// The declared objects that a migration makes, as YAML for `dove apply`.
//
// Plain values. An object is made when it is first named; text is quoted where YAML needs it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dove::slurm {

// At most this much; -1: no limit.
struct Amounts {
  std::int64_t jobs_running = -1;
  std::int64_t jobs_waiting = -1;
  std::int64_t cores = -1;
  std::int64_t gpus = -1;
  std::int64_t memory_bytes = -1;
  std::map<std::string, std::int64_t> gpus_by_model;
  std::map<std::string, std::int64_t> countables;
  bool empty() const;
};

// Reads "cpu=8,mem=64G,gres/gpu=4,gres/gpu:h200=2,license/x=3" into `amounts`; gives back what has
// no counterpart ("node=2"), or is malformed.
std::vector<std::string> read_tres(std::string_view text, Amounts& amounts);

class Object {
 public:
  void text(const std::string& field, std::string_view value);
  void number(const std::string& field, std::int64_t value);
  void flag(const std::string& field, bool value);
  // Each entry once, in the order of their coming.
  void add(const std::string& field, const std::string& entry);
  void add(const std::string& field, const std::vector<std::string>& entries);
  void amount(const std::string& field, const std::string& name, std::int64_t value);
  Amounts& limits() { return limits_; }
  bool empty() const;

 private:
  friend class Objects;
  std::map<std::string, std::string> scalars_;
  std::map<std::string, std::vector<std::string>> lists_;
  std::map<std::string, std::map<std::string, std::int64_t>> maps_;
  Amounts limits_;
};

class Objects {
 public:
  // REQUIRES: a kind of kKinds (objects.cc).
  Object& of(const std::string& kind, const std::string& name);
  bool has(const std::string& kind, const std::string& name) const;
  // All of them but those of kind Node that say nothing; `comment` comes first.
  std::string yaml(std::string_view comment) const;

 private:
  std::map<std::pair<std::string, std::string>, Object> objects_;
};

}  // namespace dove::slurm
