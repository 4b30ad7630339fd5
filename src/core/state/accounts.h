// Accounts: the counters that the jobs of one user, project and queue count towards, looked up once
// instead of by name each time.
//
// They are derived from the rest of a State, and a copy of the State derives its own. Names are
// numbered in the order in which they are first requested, and jobs store their number.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace dove {
struct JobSpec;
struct Queue;
}  // namespace dove

namespace dove::core {

struct Job;
struct PastUse;
struct State;
struct Usage;

// In the maps of the state. All but `project` exist; past use does once something was charged.
struct Account {
  struct OfQueue {
    std::string name;
    const Queue* declared = nullptr;  // null: it is not
    Usage* usage = nullptr;
    PastUse* past = nullptr;
  };
  bool known = false;
  Usage* user = nullptr;
  PastUse* user_past = nullptr;
  Usage* project = nullptr;
  std::vector<OfQueue> queues;  // the job's and all above it, from below
};

class Accounts {
 public:
  Accounts() = default;
  Accounts(const Accounts& other) : numbers_(other.numbers_), accounts_(other.accounts_.size()) {}
  Accounts(Accounts&&) noexcept = default;
  Accounts& operator=(Accounts&&) noexcept = default;

  // Makes the usage of whoever has none yet. Stays where it is until `forget`.
  Account& of(State& state, Job& job);
  // That of such jobs by its number, which is 0 before it was asked for, and given then.
  Account& of(State& state, const JobSpec& spec, std::uint32_t& number);
  // After usage was thrown away, or other queues declared.
  void forget();

 private:
  std::uint32_t number_of(const JobSpec& spec);

  std::map<std::tuple<std::string, std::string, std::string>, std::uint32_t, std::less<>> numbers_;
  std::deque<Account> accounts_;  // by number - 1
};

}  // namespace dove::core
