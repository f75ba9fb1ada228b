#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * Preloaded into a process: keeps what a disk has after a power cut. Each sync of a file or folder below $POWER_CUT_ROOT
 * adds two files to $POWER_CUT_LOG, under a number that grows: N.content has the bytes that were synced, and N.names what was
 * synced, and on the lines after that the root and everything that was then below it.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *names;
static size_t root_length;

/* Numbers of files are used again after a removal, so the time of creation is part of the identity. */
static void write_entry(const char *path, const char *shown) {
  struct statx file;
  if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &file) != 0) return;
  long long born = (long long)file.stx_btime.tv_sec * 1000000000 + file.stx_btime.tv_nsec;
  char kind = S_ISDIR(file.stx_mode) ? 'd' : S_ISLNK(file.stx_mode) ? 'l' : 'f', target[4096] = "";
  if (kind == 'l' && readlink(path, target, sizeof target - 1) < 0) return;
  fprintf(names, "%c %llu.%lld %s %s\n", kind, (unsigned long long)file.stx_ino, born, shown, target);
}

static int list_entry(const char *path, const struct stat *file, int flag, struct FTW *walk) {
  (void)file, (void)flag, (void)walk;
  write_entry(path, path[root_length] == '/' ? path + root_length + 1 : "");
  return 0;
}

static void copy_content(int file, const char *to) {
  char link[64], bytes[65536];
  int from = file, copy = open(to, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  /* Never closed: closing a file releases the locks that this process has on it. */
  if ((fcntl(file, F_GETFL) & O_ACCMODE) == O_WRONLY) from = open(link, O_RDONLY);
  off_t at = 0;
  for (ssize_t count; (count = pread(from, bytes, sizeof bytes, at)) > 0; at += count) {
    if (write(copy, bytes, count) != count) abort();
  }
  close(copy);
}

static int synced(int file, const char *function) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, function);
  const char *root = getenv("POWER_CUT_ROOT"), *log = getenv("POWER_CUT_LOG");
  char link[64], path[4096], content[4096], listing[4096], final[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (root == NULL || log == NULL || length < 0) return real(file);
  path[length] = '\0';
  root_length = strlen(root);
  if (strncmp(path, root, root_length) != 0) return real(file);

  pthread_mutex_lock(&mutex);
  struct stat found;
  fstat(file, &found);
  snprintf(content, sizeof content, "%s/%d.content.unfinished", log, getpid());
  snprintf(listing, sizeof listing, "%s/%d.names.unfinished", log, getpid());
  if (!S_ISDIR(found.st_mode)) copy_content(file, content);
  names = fopen(listing, "w");
  write_entry(path, path);
  nftw(root, list_entry, 16, FTW_PHYS);
  fclose(names);
  int result = real(file);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  long long number = (long long)now.tv_sec * 1000000000 + now.tv_nsec;
  snprintf(final, sizeof final, "%s/%020lld.content", log, number);
  if (!S_ISDIR(found.st_mode)) rename(content, final);
  snprintf(final, sizeof final, "%s/%020lld.names", log, number);
  rename(listing, final);
  pthread_mutex_unlock(&mutex);
  return result;
}

int fsync(int file) { return synced(file, "fsync"); }

int fdatasync(int file) { return synced(file, "fdatasync"); }
