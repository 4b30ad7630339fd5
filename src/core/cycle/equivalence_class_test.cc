#include "core/cycle/equivalence_class.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <type_traits>

#include "core/cycle/indexes.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"
#include "model/job_fields.h"

namespace dove::core {
namespace {

class EquivalenceClassTest : public testing::Test {
 protected:
  EquivalenceClassTest() { prepare(cluster.state, indexes, plain_policies(), {}); }
  std::uint64_t queued(JobId id) {
    sync(cluster.state, indexes);
    IndexedJob& entry = indexes.jobs.find(id)->second;
    enqueue(cluster.state, indexes, cluster.job(id), entry);
    return entry.equivalence_class;
  }

  TestCluster cluster{1, {.gpus = 2}};
  Indexes indexes;
};

TEST_F(EquivalenceClassTest, EqualJobsShareOne) {
  const std::uint64_t first = queued(cluster.submit({.gpus = 1}));
  EXPECT_EQ(queued(cluster.submit({.gpus = 1})), first);
  EXPECT_NE(queued(cluster.submit({.gpus = 2})), first);
  EXPECT_NE(queued(cluster.submit({.gpus = 1, .user = "bob"})), first);
  EXPECT_NE(queued(cluster.submit({.gpus = 1, .priority = 1})), first);
}

// Changes one field of those that job_fields lists.
class Changer {
 public:
  template <class T>
  using Of = T;
  explicit Changer(std::size_t which) : which_(which) {}

  template <class T, class Rule>
  void operator()(std::uint64_t /*layout*/, const char* name, T& value, const Rule& /*rule*/) {
    if (line_++ != which_) return;
    changed = name;
    change(value);
  }
  template <class T, class Rule>
  void optional(std::uint64_t layout, const char* name, T& value, const Rule& rule) {
    (*this)(layout, name, value, rule);
  }

  std::string changed;  // "": there are fewer fields

 private:
  template <class T>
  void change(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = !value;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(static_cast<int>(value) + 1);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value += "x";
    } else if constexpr (std::is_integral_v<T>) {
      ++value;
    } else if constexpr (requires { value.us; }) {
      ++value.us;
    } else if constexpr (requires { value.value; }) {
      ++value.value;
    } else if constexpr (requires { value.running_max; }) {
      value.indices.push_back(1);  // its limit is compared by the array that has it
    } else if constexpr (std::is_same_v<typename T::value_type, std::string>) {
      value.push_back("x");
    } else {
      value.emplace_back();
    }
  }

  const std::size_t which_;
  std::size_t line_ = 0;
};

// When this fails, a field came to JobSpec: name it in same_class (equivalence_class.cc), unless
// no verdict about a place depends on it.
TEST_F(EquivalenceClassTest, JobsThatDifferInAFieldShareNoneUnlessNoVerdictDependsOnIt) {
  const std::set<std::string> no_verdict{"name",           "launch",
                                         "begin_at",       "dependencies",
                                         "any_dependency", "array",
                                         "hold",           "parent",
                                         "exec_digest",    "checkpoint_signal",
                                         "retries_max",    "requeue",
                                         "foreign_job",    "mail_about",
                                         "mail_to",        "secrets",
                                         "priority"};  // as the job has it now, which is compared
  const JobId id = cluster.submit({.gpus = 1});
  const std::uint64_t first = queued(id);
  std::size_t fields = 0;
  for (;; ++fields) {
    Job job = cluster.job(id);
    JobSpec spec = *job.spec;
    Changer changer(fields);
    job_fields(changer, spec);
    if (changer.changed.empty()) break;
    job.spec = std::make_shared<const JobSpec>(spec);
    IndexedJob entry;
    enqueue(cluster.state, indexes, job, entry);
    EXPECT_EQ(entry.equivalence_class == first, no_verdict.contains(changer.changed))
        << changer.changed;
    dequeue(indexes, entry);
  }
  EXPECT_GT(fields, no_verdict.size());
}

TEST_F(EquivalenceClassTest, AVerdictClosesItUntilSomethingCouldHelp) {
  const JobId running = cluster.submit_and_start({.gpus = 2});
  const std::uint64_t id = queued(cluster.submit({.gpus = 1}));
  set_verdict(indexes, id, Verdict::kNoPlace);
  EXPECT_FALSE(indexes.tree.any_open());
  EXPECT_TRUE(indexes.no_place.contains(id));
  cluster.end(running);
  sync(cluster.state, indexes);
  EXPECT_TRUE(indexes.tree.any_open());
  EXPECT_TRUE(indexes.no_place.empty());
}

TEST_F(EquivalenceClassTest, TooMuchIsWhatThePoolAltogetherDoesNotHave) {
  const std::uint64_t id = queued(cluster.submit({.gpus = 2}));
  EXPECT_FALSE(is_too_much(indexes.classes.at(id)));
  cluster.submit_and_start({.gpus = 1});
  sync(cluster.state, indexes);
  EXPECT_TRUE(is_too_much(indexes.classes.at(id)));
}

TEST_F(EquivalenceClassTest, AFullArrayWaitsForOneOfItsElements) {
  JobSpec spec = spec_of({});
  spec.array.indices = {0, 1};
  spec.array.running_max = 1;
  const JobId first = cluster.submit(spec);
  const std::uint64_t id = queued(JobId(first.value + 1));
  EXPECT_FALSE(array_is_full(indexes, indexes.classes.at(id)));
  cluster.launch(first);
  sync(cluster.state, indexes);
  EXPECT_TRUE(array_is_full(indexes, indexes.classes.at(id)));
}

}  // namespace
}  // namespace dove::core
