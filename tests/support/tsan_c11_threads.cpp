// ThreadSanitizer knows POSIX threads and not those of C11, which librdkafka uses: a thread made by
// thrd_create crashes it, and a mutex locked by mtx_lock is none to it. Linked into every program
// of a TSan build, these take the place of the C library's, whose types are the POSIX ones inside.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <memory>

namespace {

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t is a pthread_mutex_t");
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_t is a pthread_cond_t");

struct Start {
  thrd_start_t function;
  void* argument;
};

void* run(void* given) {
  const std::unique_ptr<Start> start(static_cast<Start*>(given));
  const intptr_t code = start->function(start->argument);
  return reinterpret_cast<void*>(code);
}

int result(int code) {
  if (code == 0) return thrd_success;
  if (code == ETIMEDOUT) return thrd_timedout;
  return code == EBUSY ? thrd_busy : thrd_error;
}

pthread_mutex_t* mutex(mtx_t* of) { return reinterpret_cast<pthread_mutex_t*>(of); }
pthread_cond_t* condition(cnd_t* of) { return reinterpret_cast<pthread_cond_t*>(of); }

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  const int code = pthread_create(thread, nullptr, run, start.get());
  if (code == 0) static_cast<void>(start.release());
  return result(code);
}

int thrd_join(thrd_t thread, int* value) {
  void* returned = nullptr;
  const int code = pthread_join(thread, &returned);
  if (value) *value = static_cast<int>(reinterpret_cast<intptr_t>(returned));
  return result(code);
}

int mtx_init(mtx_t* of, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (type & mtx_recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  return result(pthread_mutex_init(mutex(of), &attributes));
}
void mtx_destroy(mtx_t* of) { pthread_mutex_destroy(mutex(of)); }
int mtx_lock(mtx_t* of) { return result(pthread_mutex_lock(mutex(of))); }
int mtx_unlock(mtx_t* of) { return result(pthread_mutex_unlock(mutex(of))); }

int cnd_init(cnd_t* of) { return result(pthread_cond_init(condition(of), nullptr)); }
void cnd_destroy(cnd_t* of) { pthread_cond_destroy(condition(of)); }
int cnd_signal(cnd_t* of) { return result(pthread_cond_signal(condition(of))); }
int cnd_broadcast(cnd_t* of) { return result(pthread_cond_broadcast(condition(of))); }
int cnd_wait(cnd_t* of, mtx_t* with) {
  return result(pthread_cond_wait(condition(of), mutex(with)));
}
int cnd_timedwait(cnd_t* of, mtx_t* with, const struct timespec* until) {
  return result(pthread_cond_timedwait(condition(of), mutex(with), until));
}

}  // extern "C"
