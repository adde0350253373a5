// Options of the sanitizers, linked into each instrumented program: tests start isthmus in environments of their own, in which
// variables would be missing. Each process writes its reports into a file of its own, wherever its standard error goes.

#define COMMON(name) "log_path=" REPORTS "/" name ":log_exe_name=1:exitcode=66:external_symbolizer_path=" SYMBOLIZER

const char *__asan_default_options(void) { return COMMON("address"); }

// A process with threads starts others, and between fork and exec nothing runs that a sanitizer has to follow.
const char *__tsan_default_options(void) { return COMMON("thread") ":second_deadlock_stack=1:die_after_fork=0"; }

// What tests leak on purpose: they leave files as a process that is killed does, and messages for as long as the tests run.
const char *__lsan_default_suppressions(void) {
  return "leak:isthmus_common::scratch::tests::abandoned\n"
         "leak:isthmus_provider::plugin::socket_directory::tests::Place>::abandoned\n"
         "leak:isthmus_grpc::tests::message_of\n";
}
