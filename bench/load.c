// The programs of bench/overhead. Each prints the processor time that it took, in microseconds.
//
//   load cpu ROUNDS            mixes a state that stays in the cache
//   load io FILE MEGABYTES     writes and reads a file back, 64 KiB at a time
//   load reduce PORT ROUNDS    one rank of four (SLURM_PROCID): a ring all-reduce of 64 KiB over loopback
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kRanks = 4, kBytes = 64 << 10, kFloats = kBytes / 4 };

static float own[kFloats], other[kFloats];

static int cpu(long rounds) {
  uint64_t state = 88172645463325252ULL;
  for (long i = 0; i < rounds; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  return state == 0;
}

static int io(const char* path, long megabytes) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return 1;
  for (long i = 0; i < megabytes * 16; ++i) {
    if (pwrite(fd, own, kBytes, i * kBytes) != kBytes) return 1;
  }
  for (int pass = 0; pass < 4; ++pass) {
    for (long i = 0; i < megabytes * 16; ++i) {
      if (pread(fd, other, kBytes, i * kBytes) != kBytes) return 1;
    }
  }
  return ftruncate(fd, 0) || close(fd);
}

static struct sockaddr_in address(int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return to;
}

static int all(ssize_t (*move)(int, void*, size_t), int fd, void* bytes) {
  for (size_t done = 0; done < kBytes;) {
    const ssize_t moved = move(fd, (char*)bytes + done, kBytes - done);
    if (moved <= 0) return 1;
    done += (size_t)moved;
  }
  return 0;
}

static ssize_t send_some(int fd, void* bytes, size_t count) { return write(fd, bytes, count); }
static ssize_t take_some(int fd, void* bytes, size_t count) { return read(fd, bytes, count); }

static int reduce(int port, long rounds) {
  const char* text = getenv("SLURM_PROCID");
  const int rank = text != NULL ? atoi(text) : 0, on = 1, room = 4 * kBytes;
  struct sockaddr_in mine = address(port + rank), next = address(port + (rank + 1) % kRanks);
  const int listener = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(out, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  if (bind(listener, (struct sockaddr*)&mine, sizeof mine) || listen(listener, 1)) return 1;
  for (int tries = 0; connect(out, (struct sockaddr*)&next, sizeof next) != 0; ++tries) {
    if (tries > 3000) return 1;
    usleep(10000);
  }
  const int in = accept(listener, NULL, NULL);
  setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (int i = 0; i < kFloats; ++i) own[i] = (float)rank;
  for (long round = 0; round < rounds; ++round) {
    for (int step = 0; step < kRanks - 1; ++step) {
      if (all(send_some, out, own) || all(take_some, in, other)) return 1;
      for (int i = 0; i < kFloats; ++i) own[i] = own[i] * 0.5f + other[i] * 0.5f;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  int failed = 2;
  if (argc == 3 && strcmp(argv[1], "cpu") == 0) failed = cpu(atol(argv[2]));
  if (argc == 4 && strcmp(argv[1], "io") == 0) failed = io(argv[2], atol(argv[3]));
  if (argc == 4 && strcmp(argv[1], "reduce") == 0) failed = reduce(atoi(argv[2]), atol(argv[3]));
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  if (failed == 0) {
    printf("%ld\n", (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  }
  return failed;
}
