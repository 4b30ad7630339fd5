#include "slurm/fence_cores.h"

#include <algorithm>
#include <utility>

namespace dove::slurm {
namespace {

struct FenceCore {
  int core = 0;
  const std::vector<int>* devices = nullptr;
  // By the ledger, as some placement's: work may run there whose placeholder is gone.
  bool named = false;
};

bool has(const std::vector<int>& list, int one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// A placement whose placeholder is there, with fewer cores than it has.
struct Short {
  const Wanted* wanted = nullptr;
  std::size_t lacks = 0;
};

class Lending {
 public:
  Lending(const Observed& observed, const std::vector<Wanted>& wanted, const std::string& cluster) {
    for (const JobSeen& job : observed.jobs) {
      if (job.phase != JobPhase::kHolding || !is_standing_fence(job, cluster)) continue;
      for (const HeldOnNode& held : job.held) {
        for (const int core : held.cores) free_[held.node].push_back({core, &held.devices});
      }
    }
    if (free_.empty()) return;
    const CoresOfPlaceholders held = cores_of_placeholders(observed, cluster);
    for (const Wanted& one : wanted) {
      // What Slurm runs has all of its cores from Slurm.
      if (one.runs || !one.foreign_job.empty()) continue;
      const auto own = held.find(one.key);
      for (FenceCore& each : free_[one.key.node]) {
        if (!has(one.cores, each.core)) continue;
        each.named = true;
        made_.in_use[one.key.node].insert(each.devices->begin(), each.devices->end());
      }
      if (own == held.end() || own->second.size() >= one.cores.size()) continue;
      short_.push_back({&one, one.cores.size() - own->second.size()});
    }
  }

  FenceCores lend() {
    // What runs on a fence's core goes before what has yet to get one.
    give([](const Wanted& wanted, const FenceCore& one) { return has(wanted.cores, one.core); });
    give([](const Wanted& wanted, const FenceCore& one) {
      return !one.named && std::any_of(one.devices->begin(), one.devices->end(),
                                       [&](int device) { return has(wanted.devices, device); });
    });
    give([](const Wanted&, const FenceCore& one) { return !one.named; });
    // What has no placeholder yet may name one by chance, and gets another.
    give([](const Wanted&, const FenceCore&) { return true; });
    for (auto& [key, cores] : made_.lent) std::sort(cores.begin(), cores.end());
    return std::move(made_);
  }

 private:
  template <class Suits>
  void give(Suits suits) {
    for (Short& each : short_) {
      const PlaceholderKey& key = each.wanted->key;
      std::vector<FenceCore>& free = free_[key.node];
      for (auto at = free.begin(); at != free.end() && each.lacks > 0;) {
        if (!suits(*each.wanted, *at)) {
          ++at;
          continue;
        }
        made_.lent[key].push_back(at->core);
        made_.in_use[key.node].insert(at->devices->begin(), at->devices->end());
        --each.lacks;
        at = free.erase(at);
      }
    }
  }

  std::map<std::string, std::vector<FenceCore>> free_;  // by node
  std::vector<Short> short_;
  FenceCores made_;
};

}  // namespace

FenceCores lend_fence_cores(const Observed& observed, const std::vector<Wanted>& wanted,
                            const std::string& cluster) {
  return Lending(observed, wanted, cluster).lend();
}

}  // namespace dove::slurm
