// The words of scenarios (sim/scenario.h): specs, nodes, amounts and instants from text, and
// decisions and reasons as text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/declared.h"
#include "model/event.h"
#include "model/job.h"
#include "model/node.h"
#include "model/reason.h"

namespace dove::sim {

// Scenarios start here, so that no instant is 0.
constexpr Instant kBegin{1'000'000'000};

std::vector<std::string> split(std::string_view text, char at);

// "10s", "5m", "2h", "250ms"; "64", "512G" (binary).
Result<Span> read_span(const std::string& text);
Result<std::int64_t> read_amount(const std::string& text);

// The words of a line after its verb and name: `key=value` and flags. What nobody asked for is an
// error, so a misspelt word cannot pass.
class Options {
 public:
  static Result<Options> read(const std::vector<std::string>& words);

  bool flag(const std::string& name);
  std::string text(const std::string& name, const std::string& otherwise = "");
  std::int64_t amount(const std::string& name, std::int64_t otherwise = 0);
  Span span(const std::string& name, Span otherwise = {});
  std::vector<std::string> list(const std::string& name);
  std::vector<Countable> countables(const std::string& prefix);  // prefix.NAME=AMOUNT
  // The first thing that was wrong, or a word that was not used.
  Result<void> finish() const;

 private:
  const std::string* find(const std::string& name);
  std::map<std::string, std::string> given_;
  std::set<std::string> used_;
  std::string wrong_;
};

// Ids of the job a name stands for; none when it is not known.
using FindJob = std::function<JobId(const std::string& name)>;

JobSpec read_spec(const std::string& name, Options& options, const FindJob& find_job);
std::shared_ptr<const Inventory> read_inventory(Options& options);
NodeDeclaration read_declaration(const std::string& name, Options& options);
Limits read_limits(Options& options);
// check= severity= remedy= device= evidence=
Finding read_finding(Options& options);
// As in the API: "reboot"; kNone for another word.
NodeAction read_action(const std::string& word);
// "single", "interleaved"; kDefault for another word.
Affinity read_affinity(const std::string& word);
OnHang read_on_hang(const std::string& word);
Quota read_quota(Options& options);
// weight, weight_cores, weight_gpus of a queue.
void read_weights(Options& options, Queue& queue);
// weight_age, age_span, weight_fair_share … of the order multifactor.
void read_weights(Options& options, MultifactorWeights& weights);

// How names are printed.
struct Names {
  std::function<std::string(JobId)> job;
  std::function<std::string(NodeId)> node;
};

std::string text_of(const Decision& decision, const Names& names);
std::string text_of(const Reason& reason, const Names& names);
std::string ranges_of(const std::vector<std::int32_t>& ids);

}  // namespace dove::sim
