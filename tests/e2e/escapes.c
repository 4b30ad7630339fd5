/* escapes: tries to reach out of the container that it runs in, one attempt per line of output.
 *
 *     escapes PID VOLUME       PID: a process of a neighbour, as the machine numbers it
 *
 * "NAME refused: why", or "NAME ESCAPED". Static; run by isolation_test.py. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <net/ethernet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static void tell(const char* name, long result) {
  const int why = errno;
  if (result < 0) {
    printf("%s refused: %s\n", name, strerror(why));
  } else {
    printf("%s ESCAPED\n", name);
  }
  fflush(stdout);
  errno = 0;
}

/* In a process of its own, so that one that gets through changes nothing for the next. */
#define TRY(name, expression)                       \
  do {                                              \
    fflush(stdout);                                 \
    const pid_t child = fork();                     \
    if (child == 0) {                               \
      errno = 0;                                    \
      tell(name, (long)(expression));               \
      _exit(0);                                     \
    }                                               \
    int status = 0;                                 \
    waitpid(child, &status, 0);                     \
    if (!WIFEXITED(status)) printf("%s refused: killed\n", name); \
  } while (0)

static long make_node(const char* path, mode_t type, int major_number, int minor_number) {
  if (mknod(path, type | 0666, makedev(major_number, minor_number)) != 0) return -1;
  return open(path, O_RDONLY);
}

static long write_to(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY);
  if (fd < 0) return -1;
  return write(fd, text, strlen(text));
}

static long of_process(const char* format, const char* pid, int flags) {
  char path[128];
  snprintf(path, sizeof path, format, pid);
  return open(path, flags);
}

static long out_of_chroot(void) {
  mkdir("/tmp-chroot", 0755);
  return chroot("/tmp-chroot");
}

/* A program of root with the set-user-ID bit, started by a user of the container. */
static long become_root_by_program(void) {
  if (getuid() == 0 && (chown("/bin/busybox", 0, 0) != 0 || chmod("/bin/busybox", 04755) != 0)) return -1;
  if (setgid(1000) != 0 || setuid(1000) != 0) return -1;
  int out[2];
  if (pipe(out) != 0) return -1;
  if (fork() == 0) {
    dup2(out[1], 1);
    execl("/bin/busybox", "id", "-u", NULL);
    _exit(1);
  }
  char text[32] = {0};
  if (read(out[0], text, sizeof text - 1) < 0) return -1;
  errno = EPERM;
  return strncmp(text, "0", 1) == 0 ? 0 : -1;
}

static long by_handle(void) {
  struct {
    struct file_handle handle;
    unsigned char bytes[8];
  } root = {{8, 1, {}}, {2, 0, 0, 0, 0, 0, 0, 0}};
  const int mount_fd = open("/etc/hosts", O_RDONLY);
  return open_by_handle_at(mount_fd, &root.handle, O_RDONLY);
}

static long traced(pid_t pid) { return ptrace(PTRACE_ATTACH, pid, NULL, NULL); }

static long memory_of(pid_t pid) {
  char byte = 0;
  struct iovec own = {&byte, 1}, other = {(void*)0x400000, 1};
  return process_vm_readv(pid, &own, 1, &other, 1, 0);
}

static long perf(void) {
  struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attributes};
  return syscall(SYS_perf_event_open, &attributes, -1, 0, -1, 0);
}

static long linked(const char* volume, const char* to) {
  char path[512];
  snprintf(path, sizeof path, "%s/link", volume);
  unlink(path);
  if (symlink(to, path) != 0) return -1;
  return open(path, O_RDONLY);
}

static long in_volume(const char* volume, const char* name, int flags) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", volume, name);
  return open(path, flags, 0666);
}

static void kernel(void) {
  struct timeval now = {0, 0};
  struct timespec then = {0, 0};
  TRY("bpf", syscall(SYS_bpf, 0, NULL, 0));
  TRY("perf events", perf());
  TRY("kernel module", syscall(SYS_init_module, "", 0L, ""));
  TRY("kexec", syscall(SYS_kexec_load, 0L, 0L, NULL, 0L));
  TRY("reboot", reboot(LINUX_REBOOT_CMD_CAD_OFF));
  TRY("set the time of day", settimeofday(&now, NULL));
  TRY("set the clock", clock_settime(CLOCK_REALTIME, &then));
  TRY("host name", sethostname("mine", 4));
  TRY("keys", syscall(SYS_add_key, "user", "name", "x", 1L, KEY_SPEC_USER_KEYRING));
  TRY("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
  TRY("userfaultfd", syscall(SYS_userfaultfd, 0));
  TRY("ports", iopl(3));
  TRY("kernel log", syscall(SYS_syslog, 3, malloc(64), 64));
  TRY("real-time scheduling", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){10}));
  TRY("higher priority", setpriority(PRIO_PROCESS, 0, -20));
  TRY("more memory locked", setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}));
}

static void files(const char* volume) {
  TRY("disk of the machine", open("/dev/vda", O_RDONLY) & open("/dev/sda", O_RDONLY));
  TRY("make a disk", make_node("/disk", S_IFBLK, 8, 0));
  TRY("make /dev/mem", make_node("/mem", S_IFCHR, 1, 1));
  TRY("make a GPU", make_node("/dev/nvidia0", S_IFCHR, 195, 0));
  TRY("/dev/kmsg", open("/dev/kmsg", O_RDONLY));
  TRY("core pattern", write_to("/proc/sys/kernel/core_pattern", "|/x"));
  TRY("sysrq", write_to("/proc/sysrq-trigger", "h"));
  TRY("memory of the machine", open("/proc/kcore", O_RDONLY) < 0 ? -1 : (errno = EIO, read(open("/proc/kcore", O_RDONLY), malloc(9), 9) > 0 ? 0 : -1));
  TRY("write /sys", write_to("/sys/kernel/mm/transparent_hugepage/enabled", "always"));
  TRY("write a cgroup", write_to("/sys/fs/cgroup/memory/memory.limit_in_bytes", "-1") & write_to("/sys/fs/cgroup/cgroup.procs", "0"));
  TRY("mount a cgroup", mount("c", "/mnt", "cgroup", 0, "memory") & mount("c", "/", "cgroup2", 0, NULL));
  TRY("mount", mount("none", "/", "tmpfs", 0, NULL));
  TRY("mount again writable", mount(NULL, "/sys", NULL, MS_REMOUNT | MS_BIND, NULL));
  TRY("unmount", umount2("/proc", MNT_DETACH));
  TRY("pivot_root", syscall(SYS_pivot_root, ".", "."));
  TRY("chroot", out_of_chroot());
  TRY("open by handle", by_handle());
  TRY("overlay's own attributes", setxattr("/bin", "trusted.overlay.opaque", "y", 1, 0));
  TRY("the agent's program", open("/dev/.dove-contain", O_WRONLY));
  TRY("symlink in a volume", linked(volume, "/marker-of-the-machine"));
  TRY("symlink through /proc", linked(volume, "/proc/1/root/marker-of-the-machine"));
  TRY("file of root in a volume", in_volume(volume, "of-root", O_WRONLY));
  TRY("read-only volume", in_volume("/readonly", "new", O_WRONLY | O_CREAT));
  TRY("set-user-ID program", become_root_by_program());
}

static void processes(const char* pid) {
  const pid_t other = (pid_t)atoi(pid);
  TRY("environment of a neighbour", of_process("/proc/%s/environ", pid, O_RDONLY));
  TRY("root directory of a neighbour", of_process("/proc/%s/root/", pid, O_RDONLY));
  TRY("memory of process 1", of_process("/proc/%s/mem", "1", O_RDWR));
  TRY("descriptors of process 1", of_process("/proc/%s/fd/3", "1", O_WRONLY));
  TRY("kill a neighbour", kill(other, SIGKILL));
  TRY("ptrace a neighbour", traced(other));
  TRY("ptrace process 1", traced(1));
  TRY("read a neighbour's memory", memory_of(other));
  TRY("new user namespace", unshare(CLONE_NEWUSER));
  TRY("new mount namespace", unshare(CLONE_NEWNS));
  TRY("clone into namespaces", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  TRY("enter a namespace", setns(open("/proc/1/ns/net", O_RDONLY), 0));
  TRY("id that is not its own", setuid(70000));
}

static void network(void) {
  TRY("raw socket", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  TRY("packet socket", socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
  TRY("vsock", socket(40, SOCK_STREAM, 0));
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  files(argv[2]);
  processes(argv[1]);
  network();
  kernel();
  return 0;
}
