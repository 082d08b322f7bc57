/* notify_freed.c: a notification carries data for a region that another thread frees at the same moment.
 *
 * Promise: a thread that is storing the inline payload of a notification can finish: tern_region_free does not unmap
 * the region before. A notification that is delivered later is dropped. Both hold for the first thread of a process,
 * which uses no locked instructions until a second thread appears, and for all others.
 *
 * The payload of the notification is on a page that cannot be read. So the thread that delivers the notification stops
 * when it has found the region and is about to write there; a signal handler holds it up until the thread that frees
 * the region waits, or has freed it.
 *
 * ranks: 1
 * network: off, because notifications bring no data there
 * chaos: off, because the notification does not pass a link
 * hosts: off, because there is one rank
 * timeout: 30
 */
#include "job_test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core/context.h"
#include "core/job.h"
#include "core/message.h"
#include "core/region.h"
#include "op/notify/notify.h"
#include "op/wire.h"

#define PAGE 4096u
#define SIZE 4096u
#define LEN 8u
#define AT 64u

static unsigned char *pages; /* the first ends with the words of the notification, the second begins with its payload */
static tern_region   *region;
static _Atomic uint64_t         changes;   /* of the job's regions, before the free */
static _Atomic bool             delivers;  /* a thread is about to write into the region */
static _Atomic bool             held_back; /* the region is no longer listed, and the thread that frees it waits */
static _Atomic bool             freed;     /* tern_region_free has returned */
static _Thread_local bool       frees;     /* this thread calls it */
static enum tern_link_delivered took;

/* A thread that frees the region waits with this call, which reports that it does. */
int sched_yield(void)
{
    if (frees && atomic_load(&tern_job.region_changes) != atomic_load(&changes))
        atomic_store(&held_back, true);
    return (int)syscall(SYS_sched_yield);
}

static void refuse(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
    _exit(JOB_BROKEN);
}

static void hold_up(int signal_number, siginfo_t *info, void *context)
{
    const unsigned char *at = info->si_addr;

    (void)signal_number, (void)context;
    if (at < pages + PAGE || at >= pages + 2 * PAGE || atomic_load(&delivers))
        refuse("notify_freed: the data of a notification was written to a region that is not mapped any more\n");
    atomic_store(&delivers, true);
    while (!atomic_load(&held_back) && !atomic_load(&freed))
        usleep(100);
    if (mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE) != 0)
        refuse("notify_freed: mprotect failed\n");
}

static tern_status deliver_note(struct tern_link_watch *watch)
{
    (void)watch;
    took = tern_op_notify_receive(0, pages + PAGE - offsetof(struct wire_notify, data), true);
    return TERN_OK;
}

/* Deliver the notification as a thread that has found it. */
static void *deliver(void *arg)
{
    static struct tern_link_watch watch = { .channel = TERN_CHANNEL_NOTIFY, .deliver = deliver_note };

    tern_core_message_deliver_notify(&watch);
    return arg;
}

static void *free_region(void *arg)
{
    while (!atomic_load(&delivers))
        usleep(100);
    frees = true;
    OK(tern_region_free(region));
    frees = false;
    atomic_store(&freed, true);
    return arg;
}

/* Run one function in a new thread and the other in this one. */
static void at_once(void *(*there)(void *), void *(*here)(void *))
{
    const struct wire_notify note = { .tag = 3, .kind = WIRE_NOTIFY_INLINE, .len = LEN, .bytes = AT };
    unsigned char           *words = pages + PAGE - offsetof(struct wire_notify, data);
    pthread_t                thread;

    OK(tern_region_create(TERN_WORLD, SIZE, NULL, &region));
    memcpy(words, &note, offsetof(struct wire_notify, data));
    memcpy(words + offsetof(struct wire_notify, scope), &region->name, sizeof(region->name));
    CHECK(mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
    atomic_store(&changes, atomic_load(&tern_job.region_changes));
    atomic_store(&delivers, false);
    atomic_store(&held_back, false);
    atomic_store(&freed, false);
    CHECK(pthread_create(&thread, NULL, there, NULL) == 0);
    here(NULL);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(atomic_load(&delivers) && atomic_load(&freed) && took == TERN_LINK_TAKEN);
    CHECK(mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
    deliver(NULL); /* its payload is not read */
    CHECK(took == TERN_LINK_TAKEN);
}

int main(void)
{
    struct sigaction action = { .sa_sigaction = hold_up, .sa_flags = SA_SIGINFO };

    pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK((void *)pages != MAP_FAILED);
    OK(tern_init());
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    at_once(free_region, deliver); /* the first thread is the only one so far */
    at_once(deliver, free_region);
    at_once(free_region, deliver); /* it is one of several */
    OK(tern_finalize());
    return 0;
}
