// takes_huge_pages MEBIBYTES [FILE]: maps huge pages of 2 MiB and writes to each, of FILE where one is named (in a
// hugetlbfs), else of nobody's; prints "mapped", or why not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char** argv) {
  size_t bytes = (size_t)atol(argv[1]) << 20;
  int file = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT);
  if (argc > 2) {
    file = open(argv[2], O_CREAT | O_RDWR, 0600);
    flags = MAP_SHARED;
  }
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) {
    printf("%s\n", strerrorname_np(errno));
    return 0;
  }
  for (size_t at = 0; at < bytes; at += 2 << 20) memory[at] = 1;
  printf("%s\n", mlock(memory, bytes) == 0 ? "mapped" : strerrorname_np(errno));
  return 0;
}
