#include "core/accounts.h"

#include "core/books.h"
#include "core/state.h"

namespace dove::core {
namespace {

Account found(State& state, const JobSpec& spec) {
  Account account;
  account.known = true;
  account.user = &state.usage_by_user[spec.user];
  if (!spec.project.empty()) account.project = &state.usage_by_project[spec.project];
  for_each_queue(state, spec.queue, [&](const std::string& name) {
    const auto at = state.queues.find(name);
    const Queue* declared = at == state.queues.end() ? nullptr : &at->second;
    account.queues.push_back({name, declared, &state.usage_by_queue[name], nullptr});
  });
  return account;
}

}  // namespace

Account& Accounts::of(State& state, const Job& job) {
  const JobSpec& spec = *job.spec;
  if (job.account == 0) {
    const auto next = static_cast<std::uint32_t>(accounts_.size() + 1);
    const auto [at, added] = numbers_.try_emplace({spec.user, spec.project, spec.queue}, next);
    if (added) accounts_.emplace_back();
    job.account = at->second;
  }
  Account& account = accounts_[job.account - 1];
  if (!account.known) account = found(state, spec);
  return account;
}

void Accounts::forget() {
  for (Account& account : accounts_) account = Account{};
}

}  // namespace dove::core
