#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Preloaded into a process: counts the calls that open, write, sync, cut, name or remove files below $FAILING_ROOT, and lets one
 * of them fail. The file $FAILING_CONTROL has the count, the number of the call that fails, and how. Instead of the process being
 * killed, the folder as it is then can be copied to $FAILING_COPY, and the process goes on.
 */
enum how { ONCE = 1, KILLED = 2, FULL = 3, FROM_THEN_ON = 4, COPIED = 5 };

struct control {
  long long calls, at, how;
  /** Which call failed. */
  char name[4096];
};

static struct control *control;
static const char *root;

/* Other constructors may have opened files before this one runs; their calls are not counted. */
__attribute__((constructor)) static void start(void) {
  const char *path = getenv("FAILING_CONTROL");
  root = getenv("FAILING_ROOT");
  if (path == NULL || root == NULL) return;
  int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (mapped != MAP_FAILED) control = mapped;
}

static int is_below_root(const char *path) {
  size_t length = strlen(root);
  return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The path of an open file; empty if it has none. */
static void path_of(int file, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, size - 1);
  path[length < 0 ? 0 : length] = '\0';
}

/* The programs that copy count no calls. */
static void copy_root(void) {
  char *arguments[] = {"cp", "-a", (char *)root, getenv("FAILING_COPY"), NULL}, *environment[] = {NULL};
  pid_t child;
  if (posix_spawn(&child, "/bin/cp", NULL, NULL, arguments, environment) == 0) waitpid(child, NULL, 0);
}

/* Whether this call fails. `takes_room` says whether it fails on a full disk. Ends the process where that is asked for. */
static int fails_at(const char *call, const char *path, int takes_room, void (*before_end)(void *), void *given) {
  if (!is_below_root(path)) return 0;
  int previous = errno;
  long long number = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST), at = control->at;
  errno = previous;
  if (at <= 0 || number < at) return 0;
  if (number == at) snprintf(control->name, sizeof control->name, "%s %s", call, path);
  switch (control->how) {
  case KILLED:
    if (number > at) return 0;
    if (before_end != NULL) before_end(given);
    kill(getpid(), SIGKILL);
    pause();
    return 0;
  case COPIED:
    if (number > at) return 0;
    if (before_end != NULL) before_end(given);
    copy_root();
    errno = previous;
    return 0;
  case ONCE:
    errno = EIO;
    return number == at;
  case FULL:
    errno = ENOSPC;
    return takes_room;
  default:
    errno = EIO;
    return 1;
  }
}

static int fails_on_path(const char *call, int folder, const char *path, int takes_room) {
  char full[8192];
  if (control == NULL || path == NULL) return 0;
  if (path[0] == '/') return fails_at(call, path, takes_room, NULL, NULL);
  if (folder == AT_FDCWD) {
    if (getcwd(full, 4096) == NULL) return 0;
  } else path_of(folder, full, 4096);
  strcat(full, "/");
  strncat(full, path, 4000);
  return fails_at(call, full, takes_room, NULL, NULL);
}

/* A write that a process is killed in. */
struct half {
  int file;
  const void *bytes;
  size_t count;
  /** -1 for the position of the file. */
  off_t at;
};

static void write_half(void *given) {
  struct half *half = given;
  if (half->bytes == NULL) return;
  if (half->at < 0) {
    ssize_t written = syscall(SYS_write, half->file, half->bytes, half->count / 2);
    // A process that goes on writes all of it.
    if (written > 0) lseek(half->file, -written, SEEK_CUR);
  } else syscall(SYS_pwrite64, half->file, half->bytes, half->count / 2, half->at);
}

static int fails_on_file(const char *call, struct half half, int takes_room) {
  char path[4096];
  if (control == NULL) return 0;
  path_of(half.file, path, sizeof path);
  return fails_at(call, path, takes_room, write_half, &half);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPENS(name)                                                                                                    \
  int name(const char *path, int flags, ...) {                                                                         \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                            \
    va_end(rest);                                                                                                      \
    return fails_on_path("open", AT_FDCWD, path, flags & O_CREAT) ? -1 : REAL(name)(path, flags, mode);                \
  }

#define OPENS_AT(name)                                                                                                 \
  int name(int folder, const char *path, int flags, ...) {                                                             \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                            \
    va_end(rest);                                                                                                      \
    return fails_on_path("open", folder, path, flags & O_CREAT) ? -1 : REAL(name)(folder, path, flags, mode);          \
  }

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

ssize_t write(int file, const void *bytes, size_t count) {
  return fails_on_file("write", (struct half){file, bytes, count, -1}, 1) ? -1 : REAL(write)(file, bytes, count);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  return fails_on_file("writev", (struct half){.file = file}, 1) ? -1 : REAL(writev)(file, parts, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  return fails_on_file("pwrite", (struct half){file, bytes, count, at}, 1) ? -1
                                                                            : REAL(pwrite64)(file, bytes, count, at);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
  return fails_on_file("pwritev", (struct half){.file = file}, 1) ? -1 : REAL(pwritev)(file, parts, count, at);
}

int fsync(int file) { return fails_on_file("fsync", (struct half){.file = file}, 0) ? -1 : REAL(fsync)(file); }

int fdatasync(int file) {
  return fails_on_file("fdatasync", (struct half){.file = file}, 0) ? -1 : REAL(fdatasync)(file);
}

int ftruncate64(int file, off64_t length) {
  return fails_on_file("ftruncate", (struct half){.file = file}, 0) ? -1 : REAL(ftruncate64)(file, length);
}

int rename(const char *from, const char *to) {
  return fails_on_path("rename", AT_FDCWD, to, 1) ? -1 : REAL(rename)(from, to);
}

int link(const char *from, const char *to) {
  return fails_on_path("link", AT_FDCWD, to, 1) ? -1 : REAL(link)(from, to);
}

int symlink(const char *from, const char *to) {
  return fails_on_path("symlink", AT_FDCWD, to, 1) ? -1 : REAL(symlink)(from, to);
}

int mkdir(const char *path, mode_t mode) {
  return fails_on_path("mkdir", AT_FDCWD, path, 1) ? -1 : REAL(mkdir)(path, mode);
}

int unlink(const char *path) { return fails_on_path("unlink", AT_FDCWD, path, 0) ? -1 : REAL(unlink)(path); }

int unlinkat(int folder, const char *path, int flags) {
  return fails_on_path("unlink", folder, path, 0) ? -1 : REAL(unlinkat)(folder, path, flags);
}

int remove(const char *path) { return fails_on_path("remove", AT_FDCWD, path, 0) ? -1 : REAL(remove)(path); }

int rmdir(const char *path) { return fails_on_path("rmdir", AT_FDCWD, path, 0) ? -1 : REAL(rmdir)(path); }
