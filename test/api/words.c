/* words.c: the conditions of waits for words, and the errors of these waits.
 *
 * Promise: words of 1, 2, 4 and 8 bytes, signed and unsigned, are compared like the integers of the program, whatever
 * surrounds them; waits for any, all and some words agree with a loop over the conditions; every wrong argument is
 * reported by name. A step of an idle loop does not sleep if a signal has arrived since the step before.
 *
 * ranks: 1 2
 */
#include "job_test.h"

#include "core/job.h"

static const int64_t numbers[] = { INT64_MIN,
                                   INT64_MIN + 1,
                                   INT32_MIN,
                                   -32769,
                                   -32768,
                                   -129,
                                   -128,
                                   -127,
                                   -2,
                                   -1,
                                   0,
                                   1,
                                   2,
                                   127,
                                   128,
                                   129,
                                   255,
                                   256,
                                   32767,
                                   32768,
                                   65535,
                                   65536,
                                   INT32_MAX,
                                   UINT32_MAX,
                                   INT64_MAX - 1,
                                   INT64_MAX };
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* Check all comparisons of two numbers as integers of a type. Bytes beside the word must not matter. */
#define TYPE(type)                                                                                    \
    do {                                                                                              \
        type around[3], a = (type)numbers[i], b = (type)numbers[j];                                   \
        bool expect[] = { a == b, a != b, a > b, a >= b, a < b, a <= b };                             \
                                                                                                      \
        memset(around, (int)(i * 37 + j), sizeof(around));                                            \
        around[1] = a;                                                                                \
        for (int c = TERN_EQ; c <= TERN_LE; c++) {                                                    \
            tern_word word = TERN_WORD(&around[1], c, b);                                             \
            RETURNS(expect[c] ? TERN_OK : TERN_PENDING, tern_word_wait(TERN_WORLD, &word, TERN_NOW)); \
        }                                                                                             \
    } while (0)

static void compare(size_t i, size_t j)
{
    TYPE(int8_t);
    TYPE(uint8_t);
    TYPE(int16_t);
    TYPE(uint16_t);
    TYPE(int32_t);
    TYPE(uint32_t);
    TYPE(int64_t);
    TYPE(uint64_t);
    TYPE(long);
    TYPE(unsigned long long);
}

/* Check waits for several words against a loop. */
static void several(uint64_t *seed)
{
    uint32_t  value[9];
    tern_word words[9];
    size_t    n = 1 + job_random(seed) % 9, held = 0, first = n, index = 99, count = 99, indices[9], at = 0;
    bool      holds[9];

    for (size_t i = 0; i < n; i++) {
        value[i] = (uint32_t)(job_random(seed) % 8 == 0);
        words[i] = TERN_WORD(&value[i], TERN_NE, 0);
        holds[i] = value[i] != 0;
        held += holds[i];
        first = holds[i] && first == n ? i : first;
    }
    RETURNS(held > 0 ? TERN_OK : TERN_PENDING, tern_word_wait_any(TERN_WORLD, words, n, TERN_NOW, &index));
    SAME(index, held > 0 ? first : 99);
    RETURNS(held == n ? TERN_OK : TERN_PENDING, tern_word_wait_all(TERN_WORLD, words, n, TERN_NOW));
    RETURNS(held > 0 ? TERN_OK : TERN_PENDING, tern_word_wait_some(TERN_WORLD, words, n, TERN_NOW, &count, indices));
    SAME(count, held);
    for (size_t i = 0; i < n && held > 0; i++)
        if (holds[i])
            SAME(indices[at++], i);
}

static void errors(void)
{
    uint64_t  value = 0;
    tern_word word = TERN_WORD(&value, TERN_EQ, 1), bad;
    tern_idle idle = TERN_IDLE(.name = "nothing", .deadline = 1), plain = { 0 };
    size_t    index;

    RETURNS(TERN_ERR_TIMEOUT, tern_word_wait(TERN_WORLD, &word, tern_deadline_in(0.001)));
    SAYS("which is 0, to be == 1");
    REFUSES(TERN_ERR_ARG, tern_word_wait(NULL, &word, TERN_NOW));
    REFUSES(TERN_ERR_ARG, tern_word_wait(TERN_WORLD, NULL, TERN_NOW));
    SAYS("tern_word_wait: word is NULL");
    REFUSES(TERN_ERR_ARG, tern_word_wait_any(TERN_WORLD, &word, 1, TERN_NOW, NULL));
    REFUSES(TERN_ERR_ARG, tern_word_wait_any(TERN_WORLD, &word, 0, TERN_NOW, &index));
    REFUSES(TERN_ERR_ARG, tern_word_wait_all(TERN_WORLD, NULL, 1, TERN_NOW));
    OK(tern_word_wait_all(TERN_WORLD, NULL, 0, TERN_NOW));
    REFUSES(TERN_ERR_ARG, tern_word_wait_some(TERN_WORLD, &word, 1, TERN_NOW, NULL, &index));
    REFUSES(TERN_ERR_ARG, tern_word_wait_some(TERN_WORLD, &word, 1, TERN_NOW, &index, NULL));
    bad = word, bad.bytes = 3;
    REFUSES(TERN_ERR_ARG, tern_word_wait(TERN_WORLD, &bad, TERN_NOW));
    SAYS("3 bytes");
    bad = word, bad.addr = (const char *)&value + 4;
    REFUSES(TERN_ERR_ARG, tern_word_wait(TERN_WORLD, &bad, TERN_NOW));
    SAYS("not a multiple of its 8 bytes");
    bad = word, bad.addr = NULL;
    REFUSES(TERN_ERR_ARG, tern_word_wait(TERN_WORLD, &bad, TERN_NOW));
    bad = word, bad.compare = 6;
    REFUSES(TERN_ERR_ARG, tern_word_wait(TERN_WORLD, &bad, TERN_NOW));
    bad = word, bad.reserved = 1;
    REFUSES(TERN_ERR_ARG, tern_word_wait(TERN_WORLD, &bad, TERN_NOW));
    REFUSES(TERN_ERR_ARG, tern_idle_step(TERN_WORLD, &plain));
    SAYS("TERN_IDLE_INIT");
    REFUSES(TERN_ERR_ARG, tern_idle_step(TERN_WORLD, NULL));
    REFUSES(TERN_ERR_ARG, tern_idle_step(NULL, &idle));
    tern_status st;
    while ((st = tern_idle_step(TERN_WORLD, &idle)) == TERN_OK)
        ;
    SAME(st, TERN_ERR_TIMEOUT);
    SAYS("tern_idle_step, for nothing");
    REFUSES(TERN_ERR_ARG, tern_progress_wait(NULL, TERN_NOW));
    while ((st = tern_progress_wait(TERN_WORLD, TERN_NOW)) == TERN_OK) /* other ranks may send something */
        ;
    SAME(st, TERN_PENDING);
    REFUSES(TERN_ERR_RANGE, tern_wake(TERN_WORLD, tern_size()));
    REFUSES(TERN_ERR_RANGE, tern_wake(TERN_WORLD, -1));
    REFUSES(TERN_ERR_ARG, tern_wake(NULL, 0));
    OK(tern_wake(TERN_WORLD, tern_rank()));
}

/* A signal arrives after a step has announced a sleep and the program has evaluated its condition. The next step must
 * not sleep: nothing else would wake it before its deadline. */
static void between_steps(void)
{
    tern_idle         idle = TERN_IDLE(.deadline = tern_deadline_in(5));
    _Atomic uint32_t *waits = &tern_core_job_slot(tern_rank())->memory_waits;
    tern_region      *region;
    tern_signal       signal = TERN_SIGNAL(.op = TERN_SIGNAL_ADD, .value = 1);

    OK(tern_region_create(TERN_WORLD, 64, NULL, &signal.region));
    region = signal.region;
    OK(tern_barrier(TERN_WORLD));
    atomic_store(waits, 0);
    while (atomic_load(waits) == 0)
        OK(tern_idle_step(TERN_WORLD, &idle));
    OK(tern_put_signal(TERN_WORLD, region, tern_rank(), 8, NULL, 0, &signal));
    OK(tern_idle_step(TERN_WORLD, &idle));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
}

int main(void)
{
    uint64_t seed = job_seed(5);

    OK(tern_init());
    for (size_t i = 0; i < NUMBERS; i++)
        for (size_t j = 0; j < NUMBERS; j++)
            compare(i, j);
    for (int i = 0; i < 2000; i++)
        several(&seed);
    errors();
    between_steps();
    OK(tern_finalize());
    return job_broken;
}
