// A disk that cannot write: while the file that DOVE_FAILING_SYNC names has a line, syncs of files
// whose path contains it fail with EIO. To be preloaded.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(int fd) {
  char wanted[256], link[64], path[4096];
  const char* name = getenv("DOVE_FAILING_SYNC");
  FILE* file = name == NULL ? NULL : fopen(name, "re");
  if (file == NULL) return 0;
  const char* line = fgets(wanted, sizeof wanted, file);
  fclose(file);
  if (line == NULL) return 0;
  wanted[strcspn(wanted, "\n")] = '\0';
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0 || wanted[0] == '\0') return 0;
  path[size] = '\0';
  return strstr(path, wanted) != NULL;
}

static int sync_of(int fd, long call) {
  if (!fails(fd)) return (int)syscall(call, fd);
  errno = EIO;
  return -1;
}

int fsync(int fd) { return sync_of(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_of(fd, SYS_fdatasync); }
