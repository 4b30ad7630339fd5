/* Computes pi by the midpoint rule over all ranks, then checks itself.
 *
 * Prints "pi = 3.14159... over N ranks on M nodes" and exits 0; exits 1 when the sum, or a ring
 * all-reduce done by hand with point-to-point messages, is wrong.
 *
 * M counts the nodes of the allocation: DOVE_NODE (or SLURMD_NODENAME) names the node of a rank, so
 * that several nodes emulated on one machine are counted apart; without either, the host name does. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kNameSize = 256, kTagRing = 7 };
static const long kSteps = 40 * 1000 * 1000;

static double partial_pi(int rank, int ranks) {
  const double width = 1.0 / (double)kSteps;
  double sum = 0.0;
  for (long i = rank; i < kSteps; i += ranks) {
    const double x = ((double)i + 0.5) * width;
    sum += 4.0 / (1.0 + x * x);
  }
  return sum * width;
}

/* Every value travels once around the ring; afterwards each rank has added all of them. */
static double ring_sum(double mine, int rank, int ranks) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  double total = mine, travelling = mine;
  for (int hop = 1; hop < ranks; ++hop) {
    MPI_Sendrecv_replace(&travelling, 1, MPI_DOUBLE, next, kTagRing, previous, kTagRing,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    total += travelling;
  }
  return total;
}

static void name_of_node(char name[kNameSize]) {
  memset(name, 0, kNameSize);
  const char *given = getenv("DOVE_NODE");
  if (given == NULL) given = getenv("SLURMD_NODENAME");
  if (given != NULL) {
    snprintf(name, kNameSize, "%s", given);
  } else {
    char host[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(host, &length);
    snprintf(name, kNameSize, "%.*s", length, host);
  }
}

static int distinct(const char *names, int count) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    int seen = 0;
    for (int j = 0; j < i && !seen; ++j)
      seen = strcmp(names + (size_t)i * kNameSize, names + (size_t)j * kNameSize) == 0;
    found += !seen;
  }
  return found;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  const double mine = partial_pi(rank, ranks);
  double pi = 0.0;
  MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double by_ring = ring_sum(mine, rank, ranks);

  char name[kNameSize];
  name_of_node(name);
  char *names = NULL;
  if (rank == 0) names = calloc((size_t)ranks, kNameSize);
  if (rank == 0 && names == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Gather(name, kNameSize, MPI_CHAR, names, kNameSize, MPI_CHAR, 0, MPI_COMM_WORLD);

  int wrong = fabs(pi - acos(-1.0)) > 1e-9 || fabs(by_ring - pi) > 1e-12;
  int any_wrong = 0;
  MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("pi = %.15f over %d ranks on %d nodes%s\n", pi, ranks, distinct(names, ranks),
           any_wrong ? " (WRONG)" : "");
    free(names);
  }
  MPI_Finalize();
  return any_wrong ? 1 : 0;
}
