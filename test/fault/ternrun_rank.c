/* ternrun_rank.c: a rank that executes its arguments in order, and uses nothing of the library but base/ and boot/. An
 * argument "2:word" is for rank 2 only, "!2:word" for all others.
 *
 *   join, finalize        as tern_init and tern_finalize do it to the slot, without waiting for others
 *   all                   wait until every rank has joined
 *   loss, ended           sleep on the bell until a rank is lost, or has ended in order; then print which
 *   life=N                change the life in the slot to N, and tell
 *   shrink                try to truncate the arena, and print whether that was refused
 *   damage                overwrite what the head of the segment and the slots say of the job's shape
 *   exit=N, signal=N      end like that             ignore=N      ignore signal N
 *   sleep=S               seconds                   stop          stop this process
 *   say=TEXT, part=TEXT   print, with and without a newline
 *   lines=N               print N lines of 1 to 200 letters in pieces of any size, "r i letters"
 *   long=N                print one line of N letters
 *   copy                  copy standard input to standard output
 *   show=NAME             print NAME=VALUE          cpus          print the number of cpus and the first
 *   tty                   print which standard files are terminals
 *   child                 start a process that sleeps for long in this process group
 *   stray                 the same in its own session, where no process waits for it
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "boot/bell.h"
#include "boot/boot.h"

static struct tern_boot boot;

static void live(enum tern_life life)
{
    atomic_store(&boot.segment->slot[boot.rank].life, life);
    tern_boot_tell(&boot);
}

static void join(void)
{
    tern_status status = tern_boot_join(&boot);

    if (status != TERN_OK) {
        fprintf(stderr, "rank: %s\n", tern_base_detail());
        exit(99);
    }
    live(TERN_LIFE_JOINED);
}

static void wait_for_all(void)
{
    for (int r = 0; r < boot.ranks; r++)
        while (atomic_load(&boot.segment->slot[r].life) < TERN_LIFE_JOINED)
            usleep(1000);
}

/* ternrun checks whether the arena itself is intact afterwards. */
static void shrink(void)
{
    printf("%s\n", ftruncate(boot.arena, 0) == 0 ? "truncated" : "refused");
}

static void damage(void)
{
    memset(boot.segment, 0xff, offsetof(struct tern_segment, losses));
    for (int r = 0; r < boot.ranks; r++)
        boot.segment->slot[r].node = boot.segment->slot[r].local = 0xffffffff;
}

static int find_fate(enum tern_fate fate)
{
    for (int r = 0; r < boot.ranks; r++)
        if (atomic_load(&boot.segment->slot[r].fate) == (uint32_t)fate)
            return r;
    return -1;
}

static void wait_for_fate(enum tern_fate fate, const char *word)
{
    struct tern_slot *mine = &boot.segment->slot[boot.rank];

    while (find_fate(fate) < 0) {
        uint32_t seen = tern_boot_bell_announce(&mine->bell, &mine->sleepers);
        if (find_fate(fate) < 0)
            tern_boot_bell_wait(&mine->bell, seen, -1); /* without limit: only ternrun's ring ends it */
        tern_boot_bell_withdraw(&mine->sleepers);
    }
    if (fate == TERN_FATE_LOST)
        while (atomic_load(&boot.segment->losses) == 0)
            usleep(1000); /* follows right after the fate */
    printf("%s %d\n", word, find_fate(fate));
}

static void put(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t sent = write(STDOUT_FILENO, text, len);
        if (sent < 0)
            exit(98);
        text += sent;
        len -= (size_t)sent;
    }
}

/* Lines whose content shows whether they are whole, written without regard to where they end. */
static void print_lines(int rank, int count)
{
    static char text[1 << 16];
    size_t      len = 0;
    unsigned    seed = (unsigned)rank * 7919u + 1;

    for (int i = 0; i < count; i++) {
        int letters = 1 + (int)(seed % 200);

        len += (size_t)sprintf(text + len, "%d %d ", rank, i);
        memset(text + len, 'a' + rank % 26, (size_t)letters);
        len += (size_t)letters;
        text[len++] = '\n';
        seed = seed * 1103515245u + 12345u;
        if (len > 1000 + seed % 30000 || i == count - 1) {
            size_t part = i == count - 1 ? len : len - seed % 100; /* in the middle of a line */
            put(text, part);
            memmove(text, text + part, len - part);
            len -= part;
        }
    }
}

static void print_long(int rank, size_t letters)
{
    char *text = malloc(letters + 1);

    memset(text, 'a' + rank % 26, letters);
    text[letters] = '\n';
    for (size_t at = 0; at <= letters; at += 777)
        put(text + at, letters + 1 - at < 777 ? letters + 1 - at : 777);
    free(text);
}

static void copy_input(void)
{
    char    text[4096];
    ssize_t got;

    while ((got = read(STDIN_FILENO, text, sizeof(text))) > 0)
        put(text, (size_t)got);
}

static void print_cpus(void)
{
    cpu_set_t set;
    size_t    first = 0;

    sched_getaffinity(0, sizeof(set), &set);
    while (!CPU_ISSET(first, &set))
        first++;
    printf("cpus %d first %zu\n", CPU_COUNT(&set), first);
}

static void start_sleeper(bool is_stray)
{
    if (fork() != 0)
        return;
    if (is_stray) {
        setsid();
        if (fork() != 0)
            _exit(0);
    }
    execlp("sleep", "sleep", "1000", (char *)NULL);
    _exit(1);
}

/* Die of a signal, also where a sanitizer would handle it. */
static void raise_plainly(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static bool act_plain(const char *word)
{
    if (strcmp(word, "join") == 0)
        join();
    else if (strcmp(word, "finalize") == 0)
        live(TERN_LIFE_LEFT);
    else if (strcmp(word, "all") == 0)
        wait_for_all();
    else if (strcmp(word, "loss") == 0)
        wait_for_fate(TERN_FATE_LOST, "lost");
    else if (strcmp(word, "ended") == 0)
        wait_for_fate(TERN_FATE_ENDED, "ended");
    else if (strcmp(word, "shrink") == 0)
        shrink();
    else if (strcmp(word, "damage") == 0)
        damage();
    else if (strcmp(word, "stop") == 0)
        raise(SIGSTOP);
    else if (strcmp(word, "copy") == 0)
        copy_input();
    else if (strcmp(word, "cpus") == 0)
        print_cpus();
    else if (strcmp(word, "tty") == 0)
        printf("tty %d%d%d\n", isatty(0), isatty(1), isatty(2));
    else if (strcmp(word, "child") == 0 || strcmp(word, "stray") == 0)
        start_sleeper(*word == 's');
    else
        return false;
    return true;
}

static bool act_valued(const char *word, const char *value, int rank)
{
    if (strncmp(word, "exit=", 5) == 0)
        exit(atoi(value));
    else if (strncmp(word, "life=", 5) == 0)
        live((enum tern_life)atoi(value));
    else if (strncmp(word, "signal=", 7) == 0)
        raise_plainly(atoi(value));
    else if (strncmp(word, "ignore=", 7) == 0)
        signal(atoi(value), SIG_IGN);
    else if (strncmp(word, "sleep=", 6) == 0)
        usleep((useconds_t)(atof(value) * 1e6));
    else if (strncmp(word, "say=", 4) == 0)
        printf("%s\n", value);
    else if (strncmp(word, "part=", 5) == 0)
        printf("%s", value);
    else if (strncmp(word, "lines=", 6) == 0)
        print_lines(rank, atoi(value));
    else if (strncmp(word, "long=", 5) == 0)
        print_long(rank, (size_t)atoi(value));
    else if (strncmp(word, "show=", 5) == 0)
        printf("%s=%s\n", value, getenv(value) != NULL ? getenv(value) : "(not set)");
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    int rank = 0;

    if (tern_base_options_load(environ) != TERN_OK)
        return 97;
    sscanf(tern_opt.boot, "layout=%*d,rank=%d", &rank);
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i] + (argv[i][0] == '!'), *colon = strchr(word, ':');
        bool        is_me = colon == NULL || (atoi(word) == rank) == (argv[i][0] != '!');

        if (!is_me)
            continue;
        word = colon != NULL ? colon + 1 : word;
        if (!act_plain(word) && (strchr(word, '=') == NULL || !act_valued(word, strchr(word, '=') + 1, rank))) {
            fprintf(stderr, "rank: no such word: %s\n", word);
            return 96;
        }
        fflush(stdout);
    }
    return 0;
}
