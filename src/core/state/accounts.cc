#include "core/state/accounts.h"

#include "core/state/state.h"

namespace dove::core {
namespace {

Account found(State& state, const JobSpec& spec) {
  Account account;
  account.known = true;
  account.user = &state.usage_by_user[spec.user];
  if (!spec.project.empty()) account.project = &state.usage_by_project[spec.project];
  // From below upwards, undeclared names included: what they use is counted even if nothing limits
  // it.
  for_each_queue(state, spec.queue, [&](const std::string& name) {
    const auto at = state.queues.find(name);
    const Queue* declared = at == state.queues.end() ? nullptr : &at->second;
    account.queues.push_back({name, declared, &state.usage_by_queue[name], nullptr});
  });
  return account;
}

}  // namespace

Account& Accounts::of(State& state, Job& job) { return of(state, *job.spec, job.account); }

Account& Accounts::of(State& state, const JobSpec& spec, std::uint32_t& number) {
  // 0 is "not asked yet", so numbers begin with 1.
  if (number == 0) number = number_of(spec);
  Account& account = accounts_[number - 1];
  // Anew after `forget`, under the same number: jobs keep theirs.
  if (!account.known) account = found(state, spec);
  return account;
}

std::uint32_t Accounts::number_of(const JobSpec& spec) {
  const auto known = numbers_.find(std::tie(spec.user, spec.project, spec.queue));
  if (known != numbers_.end()) return known->second;
  accounts_.emplace_back();
  const auto next = static_cast<std::uint32_t>(accounts_.size());
  numbers_.emplace(std::tie(spec.user, spec.project, spec.queue), next);
  return next;
}

void Accounts::forget() {
  // The pointers, not the numbers: maps were cleared or entries erased, and a pointer into them
  // must not be followed.
  for (Account& account : accounts_) account = Account{};
}

}  // namespace dove::core
