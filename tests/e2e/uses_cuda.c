/* uses_cuda: takes and gives back device memory as it is told, one word at a time, one line of output for each.
 *
 *     uses_cuda linked|dlsym|entry WORD...     how it comes to the driver's functions: by the linker, by dlsym, or by
 *                                              cuGetProcAddress alone, as CUDA's runtime does
 *
 *     alloc=MIB managed=MIB pitch=MIB async=MIB thread=MIB (the default stream per thread) create=MIB   "ok" or "oom"
 *     free free-async release map unmap         of the last one
 *     info total                                MiB: "free total", "total"
 *     destroy reset                             the context; the primary context, in which it is from then on
 *     fork                                      the rest happens in a child, whom it waits for
 *     crash                                     the rest happens in a child that was forked while another thread asked
 *                                               for the free memory, again and again, and whose parent was killed then; its id
 *     exec                                      the rest happens after execve(2)
 *     early=MIB                                 as the first word: cuMemCreate before the driver is begun
 *     title                                     it writes over its environment, as programs that change their title do
 *     wait                                      "waiting", then nothing until it can read a byte
 *     hold                                      "held", then nothing until it is killed
 *     next                                      who stands behind libcuda: "nobody"
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long Pointer;
#define FUNCTIONS(_)                                                                                                  \
  _(Init, "", (unsigned))                                                                                             \
  _(CtxCreate, "_v2", (void **, unsigned, int))                                                                       \
  _(CtxDestroy, "_v2", (void *))                                                                                      \
  _(CtxSetCurrent, "", (void *))                                                                                      \
  _(DeviceTotalMem, "_v2", (size_t *, int))                                                                           \
  _(DevicePrimaryCtxRetain, "", (void **, int))                                                                       \
  _(DevicePrimaryCtxReset, "_v2", (int))                                                                              \
  _(MemAlloc, "_v2", (Pointer *, size_t))                                                                             \
  _(MemAllocManaged, "", (Pointer *, size_t, unsigned))                                                               \
  _(MemAllocPitch, "_v2", (Pointer *, size_t *, size_t, size_t, unsigned))                                            \
  _(MemAllocAsync, "", (Pointer *, size_t, void *))                                                                   \
  _(MemCreate, "", (Pointer *, size_t, const int *, unsigned long long))                                              \
  _(MemFree, "_v2", (Pointer))                                                                                        \
  _(MemFreeAsync, "", (Pointer, void *))                                                                              \
  _(MemGetInfo, "_v2", (size_t *, size_t *))                                                                          \
  _(MemMap, "", (Pointer, size_t, size_t, Pointer, unsigned long long))                                               \
  _(MemRelease, "", (Pointer))                                                                                        \
  _(MemUnmap, "", (Pointer, size_t))

#define DECLARE(name, version, types) static int(*name) types;
FUNCTIONS(DECLARE)
static int (*AllocPerThread)(Pointer *, size_t, void *);

typedef int (*GetProcAddress)(const char *, void **, int, unsigned long long, int *);

#ifdef LINKED
#define EXTERN(name, version, types) extern int LINK_##name types __asm__("cu" #name version);
FUNCTIONS(EXTERN)
extern int LINK_AllocPerThread(Pointer *, size_t, void *) __asm__("cuMemAllocAsync_ptsz");
extern void *fake_next(void);
static void find(const char *how) {
  (void)how;
#define LINK(name, version, types) name = LINK_##name;
  FUNCTIONS(LINK)
  AllocPerThread = LINK_AllocPerThread;
}
static void *next(void) { return fake_next(); }
#else
static const int kVersion = 12040;
static void *library;
static void find(const char *how) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) exit(fprintf(stderr, "%s\n", dlerror()));
  if (strcmp(how, "dlsym") == 0) {
#define LOOK(name, version, types) *(void **)&name = dlsym(library, "cu" #name version);
    FUNCTIONS(LOOK)
    *(void **)&AllocPerThread = dlsym(library, "cuMemAllocAsync_ptsz");
    return;
  }
  /* The runtime asks for the function that gives functions, for itself first. */
  GetProcAddress first = NULL, ask = NULL;
  *(void **)&first = dlsym(library, "cuGetProcAddress_v2");
  first("cuGetProcAddress", (void **)&ask, kVersion, 0, NULL);
#define ASK(name, version, types) ask("cu" #name, (void **)&name, kVersion, 0, NULL);
  FUNCTIONS(ASK)
  ask("cuMemAllocAsync", (void **)&AllocPerThread, kVersion, 2, NULL);
}
static void *next(void) {
  void *(*fake_next)(void) = NULL;
  *(void **)&fake_next = dlsym(library, "fake_next");
  return fake_next();
}
#endif

static Pointer last;
static size_t last_bytes;
static void *context;

static int take(const char *word, size_t bytes) {
  const int on_device[8] = {1, 0, 1, 0};
  size_t pitch = 0;
  last_bytes = bytes;
  if (strncmp(word, "alloc", 5) == 0) return MemAlloc(&last, bytes);
  if (strncmp(word, "managed", 7) == 0) return MemAllocManaged(&last, bytes, 1);
  if (strncmp(word, "pitch", 5) == 0) return MemAllocPitch(&last, &pitch, 1000, bytes / 1024, 4);
  if (strncmp(word, "async", 5) == 0) return MemAllocAsync(&last, bytes, NULL);
  if (strncmp(word, "thread", 6) == 0) return AllocPerThread(&last, bytes, NULL);
  return MemCreate(&last, bytes, on_device, 0);
}

static int act(const char *word) {
  if (strcmp(word, "free") == 0) return MemFree(last);
  if (strcmp(word, "free-async") == 0) return MemFreeAsync(last, NULL);
  if (strcmp(word, "release") == 0) return MemRelease(last);
  if (strcmp(word, "map") == 0) return MemMap(1ULL << 40, last_bytes, 0, last, 0);
  if (strcmp(word, "unmap") == 0) return MemUnmap(1ULL << 40, last_bytes);
  if (strcmp(word, "destroy") == 0) return CtxDestroy(context) || CtxCreate(&context, 0, 0);
  if (strcmp(word, "reset") == 0) {
    if (DevicePrimaryCtxReset(0) || DevicePrimaryCtxRetain(&context, 0)) return 1;
    return CtxSetCurrent(context);
  }
  return 1;
}

static void say(const char *word) {
  size_t unused = 0, total = 0;
  const char *equals = strchr(word, '=');
  if (equals) {
    const int result = take(word, strtoull(equals + 1, NULL, 10) << 20);
    printf(result == 0 ? "ok\n" : result == 2 ? "oom\n" : "error %d\n", result);
  } else if (strcmp(word, "info") == 0) {
    MemGetInfo(&unused, &total);
    printf("%zu %zu\n", unused >> 20, total >> 20);
  } else if (strcmp(word, "total") == 0) {
    DeviceTotalMem(&total, 0);
    printf("%zu\n", total >> 20);
  } else if (strcmp(word, "next") == 0) {
    puts(next() ? "somebody" : "nobody");
  } else if (strcmp(word, "title") == 0) {
    for (char **one = environ; *one; ++one) memset(*one, '-', strlen(*one));
  } else if (strcmp(word, "wait") == 0) {
    puts("waiting");
    fflush(stdout);
    if (read(0, &unused, 1) != 1) exit(1);
  } else if (strcmp(word, "hold") == 0) {
    puts("held");
    fflush(stdout);
    for (;;) pause();
  } else {
    puts(act(word) == 0 ? "done" : "error");
  }
}

static void *ask_for_ever(void *asked) {
  size_t unused = 0, total = 0;
  CtxSetCurrent(context);
  for (;;) {
    MemGetInfo(&unused, &total);
    *(volatile int *)asked = 1;
  }
  return NULL;
}

/* Returns in the child, when it is alone. */
static int crash(void) {
  pthread_t thread;
  static volatile int asked;
  const pid_t parent = getpid();
  if (pthread_create(&thread, NULL, ask_for_ever, (void *)&asked) != 0) return 1;
  while (!asked) usleep(100);
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child > 0) kill(parent, SIGKILL);
  /* Until it was waited for: a child is given away a moment before the last thread of its parent is gone. */
  while (kill(parent, 0) == 0) usleep(100);
  printf("%d\n", getpid());
  fflush(stdout);
  return 0;
}

int main(int count, char **words) {
  if (count < 2) return 2;
  find(words[1]);
  int i = 2;
  if (i < count && strncmp(words[i], "early=", 6) == 0) say(words[i++]);
  Init(0);
  CtxCreate(&context, 0, 0);
  for (; i < count; ++i) {
    fflush(stdout);
    if (strcmp(words[i], "exec") == 0) {
      words[i] = words[1];
      words[i - 1] = words[0];
      return execv("/proc/self/exe", words + i - 1), 1;
    }
    if (strcmp(words[i], "crash") == 0) {
      if (crash() != 0) return 1;
    } else if (strcmp(words[i], "fork") != 0) {
      say(words[i]);
    } else if (fork() != 0) {
      return wait(NULL) < 0;
    }
  }
  return 0;
}
