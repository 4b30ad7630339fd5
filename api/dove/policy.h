/* policy.h: the interface of policies that are shared libraries, for `dove server --policies`.
 *
 * A library answers one or both questions: which waiting job of a queue comes first (rank), and how
 * good a node is for a task (score). It exports one function, `dove_policy_table`, which returns a table that
 * lives as long as the process. The server never unloads a library.
 *
 * Both functions are pure: equal arguments give equal answers, whatever was asked before and on
 * whichever thread; they return soon (they are called for every waiting job, and for every kind of node
 * that a kind of task could go to), keep no pointer they were given, and never throw or exit. They run
 * with the rights of the server.
 *
 * Versions: the server passes the version it speaks; a library that does not speak it returns NULL.
 * Within a version structs only grow at their end: `size` says how many bytes the other side knows.
 * Plain C, no dependency. Amounts of devices are in thousandths, instants and spans in microseconds,
 * memory in bytes. Strings are UTF-8, never NULL, and end with a 0. */
#ifndef DOVE_POLICY_H
#define DOVE_POLICY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DOVE_POLICY_VERSION 1

/* A waiting job, by what does not change while it waits. */
struct dove_job {
  uint32_t size;
  int32_t priority;
  uint64_t id;
  const char *name;
  const char *user;
  const char *project; /* "" without one */
  const char *queue;
  int64_t submitted_at_us; /* since 1970, UTC */
  int64_t time_limit_us;   /* 0: none */
  int64_t tasks;
  int64_t cores; /* of all its tasks together, like those below */
  int64_t gpus_milli;
  int64_t memory_bytes;
};

/* A node as it is now. */
struct dove_node {
  uint32_t size;
  int32_t devices;              /* all alike */
  const int32_t *devices_milli; /* what is free of each */
  int64_t cpu_milli;            /* free */
  int64_t memory_bytes;         /* free */
  int64_t cpu_milli_total;
  int64_t memory_bytes_total;
};

/* A task with devices that fits on the node. */
struct dove_task {
  uint32_t size;
  int32_t devices;
  int32_t device_milli; /* of each: 1..999 only when devices is 1 */
  int32_t reserved;
  int64_t cpu_milli;
  int64_t memory_bytes;
};

struct dove_policy {
  uint32_t size;    /* sizeof(struct dove_policy) */
  uint32_t version; /* DOVE_POLICY_VERSION */
  /* Lower-case letters, digits and "_", at most 32 of them; none that Dovetail has itself. Queues name
   * it as `order`, the cluster's settings as `placement`. */
  const char *name;
  /* Higher ranks come first, equal ones in order of submission. Cut to +-2^61. NULL: no order. */
  int64_t (*rank)(const struct dove_job *job);
  /* Higher is better. NULL: no score. */
  int64_t (*score)(const struct dove_node *node, const struct dove_task *task);
};

/* What a library exports: its table, or NULL when it does not speak `version`. */
const struct dove_policy *dove_policy_table(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
