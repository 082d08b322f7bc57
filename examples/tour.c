/* tour.c: a short tour of Tern. Each rank puts data to its neighbour, gets the data back, starts a nonblocking put
 * of a large block of private memory and completes it with an event, and reports. Run this program under ternrun,
 * for example with `make demo`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern.h>

#define BLOCK (4u << 20)

static void check(tern_status status, const char *what)
{
    char text[700];

    if (status == TERN_OK)
        return;
    snprintf(text, sizeof(text), "%s: %s (%s)", what, tern_strerror(status), tern_error_detail());
    tern_abort(1, text);
}

/* Rank 0 prints the lines of all ranks, in order. */
static void report(const char *line)
{
    char  mine[160] = "";
    char *all = malloc(sizeof(mine) * (size_t)tern_size());

    snprintf(mine, sizeof(mine), "%s", line);
    check(tern_allgather(TERN_WORLD, mine, sizeof(mine), all), "tern_allgather");
    for (int i = 0; tern_rank() == 0 && i < tern_size(); i++)
        printf("  rank %d: %s\n", i, all + sizeof(mine) * (size_t)i);
    free(all);
}

static void heading(const char *text)
{
    if (tern_rank() == 0)
        printf("%s\n", text);
}

static void greet(tern_region *region, int left, int right)
{
    char line[160], here[64] = "", back[64] = "";

    heading("A blocking put to the right neighbour, and a get of what arrived there:");
    snprintf(line, sizeof(line), "hello from rank %d", tern_rank());
    check(tern_put(TERN_WORLD, region, right, 0, line, 64), "tern_put");
    check(tern_barrier(TERN_WORLD), "tern_barrier");
    memcpy(here, tern_region_ptr(region, tern_rank()), sizeof(here) - 1); /* a rank's own part is plain memory */
    check(tern_get(TERN_WORLD, region, right, 0, back, sizeof(back)), "tern_get");
    snprintf(line, sizeof(line), "my part holds \"%.40s\" (put by rank %d); rank %d holds \"%.40s\"", here, left, right,
             back);
    report(line);
}

static void send_block(tern_region *region, int left, int right)
{
    char        line[160];
    char       *source = malloc(BLOCK);
    char       *part = tern_region_ptr(region, tern_rank());
    tern_event  done;
    tern_status st;
    size_t      wrong = 0;

    heading("A block of 4 MiB of private memory, put without waiting; the event tells when it is there:");
    memset(source, 'a' + tern_rank() % 26, BLOCK);
    check(tern_put_nb(TERN_WORLD, region, right, 4096, source, BLOCK, &done), "tern_put_nb");
    while ((st = tern_event_test(&done)) == TERN_PENDING)
        ; /* a program can compute here */
    check(st, "tern_event_test");
    check(tern_barrier(TERN_WORLD), "tern_barrier");
    for (size_t i = 0; i < BLOCK; i++)
        wrong += part[4096 + i] != 'a' + left % 26;
    snprintf(line, sizeof(line), "4 MiB from rank %d arrived with %zu wrong bytes, by %s", left, wrong,
             tern_region_path(region, right));
    report(line);
    free(source);
    if (wrong > 0)
        tern_abort(1, "the data is not what was sent");
}

static void open_private(int right)
{
    char         line[160];
    double      *mine = malloc(1000 * sizeof(*mine));
    double       theirs;
    tern_region *region;

    heading("Memory that the program already had, opened to the others:");
    for (int i = 0; i < 1000; i++)
        mine[i] = tern_rank() + i / 1000.0;
    check(tern_region_register(TERN_WORLD, mine, 1000 * sizeof(*mine), &region), "tern_region_register");
    check(tern_get_value(TERN_WORLD, region, right, 999 * sizeof(double), &theirs), "tern_get_value");
    snprintf(line, sizeof(line), "the last element of rank %d is %.3f, read by %s", right, theirs,
             tern_region_path(region, right));
    report(line);
    check(tern_region_free(region), "tern_region_free");
    free(mine);
}

static void misuse(tern_region *region)
{
    char line[160];

    heading("An error says what is wrong, and changes nothing:");
    tern_put(TERN_WORLD, region, tern_size(), 0, line, 8);
    snprintf(line, sizeof(line), "%.150s", tern_error_detail());
    report(line);
}

int main(void)
{
    tern_region *region;

    check(tern_init(), "tern_init");
    int left = (tern_rank() + tern_size() - 1) % tern_size(), right = (tern_rank() + 1) % tern_size();

    check(tern_region_create(TERN_WORLD, 4096 + BLOCK, NULL, &region), "tern_region_create");
    greet(region, left, right);
    send_block(region, left, right);
    open_private(right);
    misuse(region);
    check(tern_region_free(region), "tern_region_free");
    check(tern_finalize(), "tern_finalize");
    return 0;
}
