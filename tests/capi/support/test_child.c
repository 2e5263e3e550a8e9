#define _GNU_SOURCE /* setgroups */
#include "test_child.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int code_of_child(int (*child)(void* argument), void* argument) {
  fflush(NULL); /* or the child would print the parent's buffered text again */
  const pid_t process = fork();
  if (process == 0) {
    alarm(120);
    _exit(child(argument));
  }
  int status = 0;
  assert_true(process > 0 && waitpid(process, &status, 0) == process);
  if (WIFSIGNALED(status)) print_error("the child died of signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int become_other_user(void) {
  enum { kNobody = 65534 };
  if (geteuid() != 0) return 1;
  return setgroups(0, NULL) == 0 && setgid(kNobody) == 0 && setuid(kNobody) == 0;
}

int set_soft_limit(int resource, uint64_t value) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0) return 0;
  limit.rlim_cur = value;
  return setrlimit(resource, &limit) == 0;
}

/* A directory has one link per subdirectory and two more; each thread is one subdirectory. */
int thread_count(void) {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 ? (int)tasks.st_nlink - 2 : 0;
}

int under_valgrind(void) {
  const char* preloaded = getenv("LD_PRELOAD");
  return preloaded != NULL && strstr(preloaded, "vgpreload") != NULL;
}

void skip_test(const char* reason) {
  print_message("skipped: %s\n", reason);
  skip();
}

void skip_under_valgrind(void) {
  if (under_valgrind()) skip_test("not under valgrind");
}
