#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Preloaded into a process: a sync of the disk waits while the file $SYNC_GATE exists with the content that it had when the sync
 * began, and says so in $SYNC_GATE.reached.
 */
static int content_of(const char *gate, char *content, size_t size) {
  ssize_t length;
  int file = open(gate, O_RDONLY);
  if (file < 0) return 0;
  length = read(file, content, size - 1);
  close(file);
  content[length < 0 ? 0 : length] = 0;
  return 1;
}

static void wait_at_gate(void) {
  const char *gate = getenv("SYNC_GATE");
  char reached[4096], first[32], now[32];
  if (gate == NULL || !content_of(gate, first, sizeof first)) return;
  snprintf(reached, sizeof reached, "%s.reached", gate);
  close(open(reached, O_CREAT | O_WRONLY, 0600));
  while (content_of(gate, now, sizeof now) && strcmp(first, now) == 0) usleep(2000);
}

int fsync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait_at_gate();
  return real(file);
}

int fdatasync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_at_gate();
  return real(file);
}
