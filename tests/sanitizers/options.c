// Options of the sanitizers, linked into each instrumented program: tests start isthmus in environments of their own, in which
// variables would be missing. Each process writes its reports into a file of its own, wherever its standard error goes.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

// Tests send the signals of faults to isthmus, which end it as they end any process.
#define SIGNALS "handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:handle_abort=0"
#define COMMON(name) \
  SIGNALS ":log_path=" REPORTS "/" name ":log_exe_name=1:exitcode=66:external_symbolizer_path=" SYMBOLIZER

const char *__asan_default_options(void) { return COMMON("address"); }

// A process with threads starts others, and between fork and exec nothing runs that a sanitizer has to follow.
const char *__tsan_default_options(void) { return COMMON("thread") ":second_deadlock_stack=1:die_after_fork=0"; }

// What tests leak on purpose: they leave files as a process that is killed does, and messages for as long as the tests run.
const char *__lsan_default_suppressions(void) {
  return "leak:isthmus_common::scratch::tests::abandoned\n"
         "leak:isthmus_provider::plugin::socket_directory::tests::Place>::abandoned\n"
         "leak:isthmus_grpc::tests::message_of\n";
}

#ifdef thread
// SQLite reads two things before it takes a lock, and again behind it: whether it is initialised, and how far the readers and the
// checkpoint of a write-ahead log are.
const char *__tsan_default_suppressions(void) {
  return "race:sqlite3_initialize\n"
         "race:walTryBeginRead\n";
}

// ThreadSanitizer takes what epoll_wait returns to be after what epoll_ctl was called with, by the descriptor. tokio registers sockets
// with one descriptor and waits for them with another one of the same epoll, which fcntl has made. The sanitizer knows dup3 and does
// not know fcntl, so this one calls both.
int fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  int result = (int)syscall(SYS_fcntl, descriptor, command, argument);
  if (command == F_DUPFD_CLOEXEC && result >= 0) dup3(descriptor, result, O_CLOEXEC);
  return result;
}
#endif
