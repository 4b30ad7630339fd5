/* small_first: a queue that serves small jobs first, and tasks that go where most cores are free.
 *
 *   cc -O2 -fPIC -shared -I api -o small_first.so examples/policies/small_first.c
 *   dove server --policies $PWD/small_first.so
 *   printf 'kind: Queue\nname: default\norder: small_first\n' | dove apply -f - */
#include <dove/policy.h>

static int64_t rank(const struct dove_job *job) {
  /* A job that is a day older comes before one that asks for a GPU less. */
  const int64_t day_us = 86400LL * 1000000;
  return -(job->gpus_milli * (day_us / 1000) + job->submitted_at_us);
}

static int64_t score(const struct dove_node *node, const struct dove_task *task) {
  return node->cpu_milli - task->cpu_milli;
}

const struct dove_policy *dove_policy_table(uint32_t version) {
  static const struct dove_policy policy = {
      sizeof(policy), DOVE_POLICY_VERSION, "small_first", rank, score,
  };
  return version == DOVE_POLICY_VERSION ? &policy : 0;
}
