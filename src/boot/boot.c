/* boot.c: joins the job: reads TERN_BOOT, which ternrun sets, maps the segment, and claims this rank's slot.
 *
 * The variable is untrusted input. It is parsed strictly, and nothing in it is used before the file behind the
 * descriptor has shown the right mark, layout and size. This file does not know what the ranks exchange afterwards, and
 * does not end a slot's life.
 */
#include "boot/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/blob.h"
#include "base/options.h"
#include "base/parse.h"
#include "base/siphash.h"
#include "boot/singleton.h"
#include "boot/pmi_join.h"
#include "boot/process.h"

int64_t tern_boot_mark(uint64_t job)
{
    uint8_t key[TERN_SIPHASH_KEY];

    memcpy(key, &job, sizeof(job));
    memcpy(key + sizeof(job), "tern job", TERN_SIPHASH_KEY - sizeof(job));
    return (int64_t)(tern_base_siphash(key, "", 0) >> 1);
}

void tern_boot_text(char *text, size_t size, int rank, const struct tern_boot_given *given)
{
    snprintf(text, size, "layout=%u,rank=%d,ranks=%d,arena=%d,huge=%d,tell=%d,launcher=%d,job=%lld",
             TERN_SEGMENT_LAYOUT, rank, given->ranks, given->arena, given->huge, given->relay_fd, given->launcher,
             (long long)given->mark);
}

/* Parse "key=number" and the comma after it at *at, and advance *at. Returns false if the key is another one or the
 * number does not lie within min to max. */
static bool take_field(const char **at, const char *key, int64_t min, int64_t max, int64_t *out)
{
    size_t  key_len = strlen(key), len;
    char    number[24];
    int64_t value;

    if (strncmp(*at, key, key_len) != 0 || (*at)[key_len] != '=')
        return false;
    *at += key_len + 1;
    len = strcspn(*at, ",");
    if (len >= sizeof(number))
        return false;
    memcpy(number, *at, len);
    number[len] = '\0';
    *at += len + ((*at)[len] == ',');
    if (!tern_base_parse_count(number, &value) || value < min || value > max)
        return false;
    *out = value;
    return true;
}

static tern_status fail_version(int64_t layout)
{
    return tern_base_fail(TERN_ERR_BOOT,
                          "ternrun and this program's Tern library are of different versions: their shared memory has "
                          "layouts %lld and %u; use the ternrun that was installed with the library",
                          (long long)layout, TERN_SEGMENT_LAYOUT);
}

tern_status tern_boot_text_read(const char *text, struct tern_boot_words *out)
{
    const char            *at = text;
    struct tern_boot_words got = { 0 };

    if (take_field(&at, "layout", 0, UINT32_MAX, &got.layout) && got.layout != TERN_SEGMENT_LAYOUT)
        return fail_version(got.layout);
    at = text;
    if (!take_field(&at, "layout", 0, UINT32_MAX, &got.layout) ||
        !take_field(&at, "rank", 0, TERN_MAX_RANKS - 1, &got.rank) ||
        !take_field(&at, "ranks", 1, TERN_MAX_RANKS, &got.ranks) || !take_field(&at, "arena", 0, INT_MAX, &got.arena) ||
        !take_field(&at, "huge", -1, INT_MAX, &got.huge) || !take_field(&at, "tell", -1, INT_MAX, &got.tell) ||
        !take_field(&at, "launcher", 1, INT_MAX, &got.launcher) || !take_field(&at, "job", 0, INT64_MAX, &got.mark) ||
        *at != '\0' || at[-1] == ',' || got.rank >= got.ranks)
        return tern_base_fail(TERN_ERR_BOOT,
                              "TERN_BOOT=%.200s is not what ternrun sets; unset it, or start the program with ternrun",
                              text);
    *out = got;
    return TERN_OK;
}

/* Return whether fd is the arena of the job with the mark: a regular file of sufficient size, open for reading and
 * writing, with the right magic number and mark. The file is read rather than mapped, because the descriptor may refer
 * to anything. An arena of another layout may store its mark elsewhere and is accepted here; mapping it reports the
 * error. */
static bool is_arena(int fd, uint64_t mark)
{
    struct stat         about;
    struct tern_segment head;

    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size >= (off_t)TERN_ARENA_CONTROL &&
           (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
           head.magic == TERN_SEGMENT_MAGIC &&
           (head.layout != TERN_SEGMENT_LAYOUT || (uint64_t)tern_boot_mark(head.job) == mark);
}

static bool is_huge(int fd, uint64_t unused)
{
    struct statfs about;

    (void)unused;
    return fstatfs(fd, &about) == 0 && (unsigned long)about.f_type == HUGETLBFS_MAGIC;
}

/* Return whether fd is the pipe to the relay. */
static bool is_relay_pipe(int fd, uint64_t inode)
{
    struct stat about;

    return fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode) && about.st_ino == inode &&
           (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

/* Set *out to a descriptor that the launcher passed on: the inherited one if it is the right one, and otherwise the
 * launcher's own, opened through /proc. The result is close-on-exec; -1 if the launcher passed on none. is(fd,
 * expected) tells whether a descriptor is the right one. */
static tern_status open_inherited(const struct tern_boot_words *text, int64_t inherited, int flags,
                                  bool (*is)(int fd, uint64_t expected), uint64_t expected, int *out)
{
    char path[64];
    int  fd = (int)inherited;

    *out = fd;
    if (fd < 0)
        return TERN_OK;
    if (is(fd, expected)) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        return TERN_OK;
    }
    snprintf(path, sizeof(path), "/proc/%lld/fd/%d", (long long)text->launcher, fd);
    *out = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*out >= 0 && is(*out, expected))
        return TERN_OK;
    if (*out >= 0) {
        close(*out);
        *out = -1;
        errno = ESRCH; /* the launcher's pid now belongs to another process */
    }
    return tern_base_fail(TERN_ERR_BOOT,
                          "rank %lld cannot reach its job's shared memory: a program between ternrun and this one "
                          "closed descriptor %d, and ternrun (pid %lld) does not give it again: %s; let that program "
                          "keep its descriptors open, or start the rank with ternrun directly",
                          (long long)text->rank, fd, (long long)text->launcher, strerror(errno));
}

tern_status tern_boot_segment_map(int arena, int ranks, struct tern_segment **out)
{
    struct tern_segment  head;
    struct tern_segment *segment;
    size_t               bytes;

    if (pread(arena, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return tern_base_fail(TERN_ERR_BOOT, "cannot read the job's shared memory: %s", strerror(errno));
    if (head.layout != TERN_SEGMENT_LAYOUT)
        return fail_version(head.layout);
    if (head.ranks != (uint32_t)ranks)
        return tern_base_fail(TERN_ERR_BOOT,
                              "the launcher has started %d ranks, but the shared memory is that of %u: they belong to "
                              "different jobs; start the program again",
                              ranks, head.ranks);
    bytes = tern_segment_bytes(head.ranks, head.contributions != 0);
    segment = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, arena, 0);
    if (segment == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "cannot map %zu bytes of the job's shared memory: %s", bytes,
                              strerror(errno));
    *out = segment;
    return TERN_OK;
}

void tern_boot_place(struct tern_boot *boot, int rank)
{
    const struct tern_segment *segment = boot->segment;

    boot->rank = rank;
    boot->ranks = (int)segment->ranks;
    boot->node = (int)segment->node;
    boot->nodes = (int)segment->nodes;
    boot->local = (int)segment->slot[rank].local;
    boot->locals = (int)segment->locals;
}

tern_status tern_boot_claim(struct tern_segment *segment, int rank)
{
    struct tern_slot *slot = &segment->slot[rank];
    uint32_t          life = TERN_LIFE_NONE;

    /* acq_rel: the claim publishes nothing of its own; a process that sees JOINING by an acquire load also sees the
     * slot as the launcher initialized it. */
    if (!atomic_compare_exchange_strong_explicit(&slot->life, &life, TERN_LIFE_JOINING, memory_order_acq_rel,
                                                 memory_order_acquire))
        return tern_base_fail(TERN_ERR_BOOT,
                              "process %d joined as rank %d before: this one was started by that rank and has its "
                              "TERN_BOOT; run it as a job of its own, with 'env -u TERN_BOOT program'",
                              atomic_load_explicit(&slot->pid, memory_order_relaxed), rank);
    /* release: publishes the claim before the pid. Pairs with the acquire loads of pid by processes that look up the
     * rank. */
    atomic_store_explicit(&slot->pid, (int32_t)getpid(), memory_order_release);
    return TERN_OK;
}

static tern_status join_launched(const char *value, struct tern_boot *out)
{
    struct tern_boot_words text = { 0 };
    struct tern_boot       boot = { .launched = true, TERN_BOOT_EMPTY };
    tern_status            status;

    if ((status = tern_boot_text_read(value, &text)) == TERN_OK &&
        (status = open_inherited(&text, text.arena, O_RDWR, is_arena, (uint64_t)text.mark, &boot.arena)) == TERN_OK &&
        (status = open_inherited(&text, text.huge, O_RDWR, is_huge, 0, &boot.huge)) == TERN_OK &&
        (status = tern_boot_segment_map(boot.arena, (int)text.ranks, &boot.segment)) == TERN_OK &&
        (status = open_inherited(&text, text.tell, O_WRONLY, is_relay_pipe, boot.segment->relay_inode,
                                 &boot.relay_fd)) == TERN_OK &&
        (status = tern_boot_claim(boot.segment, (int)text.rank)) == TERN_OK &&
        (status = tern_boot_process_bind_parent((pid_t)text.launcher)) == TERN_OK) {
        tern_boot_place(&boot, (int)text.rank);
        *out = boot;
    } else {
        tern_boot_release(&boot);
    }
    return status;
}

static tern_status join_singleton(struct tern_boot *out)
{
    struct tern_boot boot = { .launched = false, .relay_fd = -1 };
    tern_status      status = tern_boot_singleton_check();

    if (status != TERN_OK)
        return status;
    status = tern_boot_arena_make(1, tern_boot_singleton_cores(), &boot.arena, &boot.huge, &boot.segment);
    if (status != TERN_OK)
        return status;
    fcntl(boot.arena, F_SETFD, FD_CLOEXEC);
    if (boot.huge >= 0)
        fcntl(boot.huge, F_SETFD, FD_CLOEXEC);
    tern_boot_place(&boot, 0);
    tern_boot_claim(boot.segment, 0); /* cannot fail: no other process has the segment */
    *out = boot;
    return TERN_OK;
}

tern_status tern_boot_join(struct tern_boot *boot)
{
    const struct tern_pmi_ops *foreign;
    tern_status                status;

    if (tern_opt.boot != NULL && *tern_opt.boot != '\0')
        return join_launched(tern_opt.boot, boot);
    if ((status = tern_boot_pmi_find(&foreign)) != TERN_OK)
        return status;
    return foreign != NULL ? tern_boot_pmi_join(foreign, boot) : join_singleton(boot);
}

struct tern_segment *tern_boot_peek(void)
{
    const char            *value = getenv("TERN_BOOT"); /* the options may not have been read yet */
    struct tern_boot_words text = { 0 };
    struct tern_segment   *segment = NULL;
    int                    arena;

    if (value != NULL && *value != '\0' && tern_boot_text_read(value, &text) == TERN_OK &&
        open_inherited(&text, text.arena, O_RDWR, is_arena, (uint64_t)text.mark, &arena) == TERN_OK &&
        tern_boot_segment_map(arena, (int)text.ranks, &segment) == TERN_OK)
        return segment;
    return NULL;
}

void tern_boot_leave(struct tern_boot *boot)
{
    if (boot->foreign)
        tern_boot_pmi_leave(boot);
    tern_boot_release(boot);
}

void tern_boot_release(struct tern_boot *boot)
{
    const int fds[] = { boot->arena, boot->huge, boot->relay_fd };

    if (boot->segment != NULL)
        tern_boot_segment_unmap(boot->segment);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *boot = (struct tern_boot){ TERN_BOOT_EMPTY };
}

/* Return the length of a rank's list of addresses; 0 if the segment is damaged. */
static uint32_t addresses_len(const struct tern_net_address *address)
{
    /* acquire: reads the length before the bytes. Pairs with the release in tern_boot_publish_address() or in the
     * relay. */
    uint32_t len = atomic_load_explicit(&address->len, memory_order_acquire);

    return len <= TERN_NET_ADDRESS_BYTES ? len : 0;
}

tern_status tern_boot_publish_address(const struct tern_boot *boot, uint16_t link, const void *bytes, size_t len)
{
    struct tern_net_address *address = tern_segment_net_address(boot->segment, (uint32_t)boot->rank);
    uint32_t                 used = addresses_len(address);
    size_t                   known, now;

    if (tern_base_blob_find(address->bytes, used, link, &known))
        return tern_base_fail(TERN_ERR_STATE, "rank %d has published its address for link %u before", boot->rank, link);
    if (!(now = tern_base_blob_add(address->bytes, TERN_NET_ADDRESS_BYTES, used, link, bytes, len)))
        return tern_base_fail(TERN_ERR_RANGE, "an address of %zu bytes cannot be published; 1 to %zu can", len,
                              TERN_NET_ADDRESS_BYTES - used - (size_t)TERN_BLOB_HEAD);
    /* release: publishes the bytes before their length. Pairs with the acquire in addresses_len() and in the relay. */
    atomic_store_explicit(&address->len, (uint32_t)now, memory_order_release);
    return TERN_OK;
}

const void *tern_boot_net_address(const struct tern_boot *boot, uint16_t link, int rank, size_t *len)
{
    const struct tern_net_address *address = tern_segment_net_address(boot->segment, (uint32_t)rank);

    return tern_base_blob_find(address->bytes, addresses_len(address), link, len);
}

void tern_boot_tell(const struct tern_boot *boot)
{
    uint64_t one = 1; /* an eventfd takes 8 bytes */
    ssize_t  sent;

    if (boot->nodes <= 1 || boot->relay_fd < 0)
        return;
    /* Every rank writes for itself and does not rely on another rank to wake the relay, because that rank may be killed
     * or stopped first. The write does not block. It fails if the pipe is full, and then the relay is already awake. */
    do
        sent = write(boot->relay_fd, &one, sizeof(one));
    while (sent < 0 && errno == EINTR);
}
