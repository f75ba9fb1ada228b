#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Preloaded into a process: a sync of the disk waits while the file $SYNC_GATE exists, and says so in $SYNC_GATE.reached. */
static void wait_at_gate(void) {
  const char *gate = getenv("SYNC_GATE");
  char reached[4096];
  if (gate == NULL || access(gate, F_OK) != 0) return;
  snprintf(reached, sizeof reached, "%s.reached", gate);
  close(open(reached, O_CREAT | O_WRONLY, 0600));
  while (access(gate, F_OK) == 0) usleep(2000);
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
