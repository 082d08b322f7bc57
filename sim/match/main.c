/* main.c: tern-match: search for match bits with which the network could execute a rendezvous alone, and print what was
 * found. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

enum { OPT_TABLE = 256, OPT_WITHOUT, OPT_ALL, OPT_ANY_ORDER, OPT_SENDS };

static const struct option long_options[] = {
    { "table", required_argument, NULL, OPT_TABLE },
    { "without", required_argument, NULL, OPT_WITHOUT },
    { "all", no_argument, NULL, OPT_ALL },
    { "any-order", no_argument, NULL, OPT_ANY_ORDER },
    { "sends", required_argument, NULL, OPT_SENDS },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static const char usage[] =
    "usage: tern-match [options]\n"
    "\n"
    "Searches all 2^36 choices of match and ignore bits of two sends, t1 and t2, for one with which every order of "
    "receives in\n"
    "table 1 of the RDRP paper fetches the right message.\n"
    "\n"
    "  --table paper|mpi   what the orders must fetch: as the table is printed (default), or as MPI's matching says\n"
    "  --without N         leave out order N (1 to 7); may be given again\n"
    "  --any-order         the gets of an order may come in either order\n"
    "  --all               try all choices one by one instead of one of each kind (half a minute of CPU time)\n"
    "  --sends N           show that N sends (3 or 4) cannot be told apart by any match bits\n"
    "\n"
    "Status: 0 no choice is right, 1 there is one, 2 wrong usage.\n";

static const char *const tag_name[MATCH_TAGS] = { "t1", "t2", "* " };

static void print_orders(const struct match_order *table, unsigned orders)
{
    static const char *const name[] = { "nothing", "send 1 (t1)", "send 2 (t2)" };

    for (int i = 0; i < MATCH_ORDERS; i++)
        printf("  %d  recv(%s) fetches %-11s  recv(%s) fetches %-11s%s\n", i + 1, tag_name[table[i].tag[0]],
               name[table[i].fetches[0]], tag_name[table[i].tag[1]], name[table[i].fetches[1]],
               orders >> i & 1 ? "" : "  (left out)");
}

/* Print bits in the form t1 t2 * | 1 2 | none t1 t2 *; a dot is an ignored bit. */
static void print_entry(int send, struct match_entry entry)
{
    static const char *const names[MATCH_BITS] = { "t1", "t2", "*", "1st", "2nd", "none", "t1", "t2", "*" };

    printf("  entry of send %d:", send);
    for (int i = 0; i < MATCH_BITS; i++) {
        const char *value = entry.ignore >> i & 1 ? "any" : entry.match >> i & 1 ? "1" : "0";

        printf("%s %s=%s", i == 0 ? " tag" : i == 3 ? "; position" : i == 5 ? "; before" : "", names[i], value);
    }
    printf("\n");
}

static void print_receives(const int *tag, int receives)
{
    for (int i = 0; i < receives; i++) {
        if (tag[i] < 0)
            printf(" recv(*)");
        else
            printf(" recv(t%d)", tag[i] + 1);
    }
}

static int many_sends(int sends)
{
    struct match_conflict conflict;

    if (!match_conflict(sends, &conflict)) {
        printf(
            "%d sends: every tag, position and tag before asks for one and the same send in all orders of receives\n",
            sends);
        return 1;
    }
    printf("%d sends, t1 to t%d: no match bits can serve both\n ", sends, sends);
    print_receives(conflict.tag[0], conflict.receives);
    printf("   whose receive %d must fetch send %d, and\n ", conflict.at + 1, conflict.fetches[0]);
    print_receives(conflict.tag[1], conflict.receives);
    printf("   whose receive %d must fetch send %d:\nits tag, its position and the tag before are the same.\n",
           conflict.at + 1, conflict.fetches[1]);
    return 0;
}

static int search(const struct match_order *table, unsigned orders, bool any_order, bool all)
{
    struct match_found found = match_search(table, orders, any_order);

    print_orders(table, orders);
    printf("%u of 2^18 entries differ in which gets they take; pairs of these stand for all 2^36 choices\n",
           found.behaviours);
    if (all) {
        uint64_t counted = match_count_all(table, orders, any_order, 2);

        printf("one by one: %" PRIu64 " of 2^36 choices are right%s\n", counted,
               counted == found.solutions ? "" : ", WHICH IS NOT WHAT THE SHORTCUT SAYS");
    }
    if (found.solutions == 0) {
        printf("no choice of match and ignore bits is right\n");
        return 0;
    }
    printf("%" PRIu64 " of 2^36 choices are right, for example\n", found.solutions);
    print_entry(1, found.example[0]);
    print_entry(2, found.example[1]);
    return 1;
}

static int wrong(const char *text)
{
    fprintf(stderr, "tern-match: %s; see tern-match --help\n", text);
    return 2;
}

int main(int argc, char **argv)
{
    const struct match_order *table = match_table;
    unsigned                  orders = (1u << MATCH_ORDERS) - 1;
    bool                      any_order = false, all = false;
    int                       option, sends = 2;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        switch (option) {
        case OPT_TABLE:
            if (strcmp(optarg, "paper") != 0 && strcmp(optarg, "mpi") != 0)
                return wrong("--table is paper or mpi");
            table = strcmp(optarg, "mpi") == 0 ? match_mpi : match_table;
            break;
        case OPT_WITHOUT:
            if (strlen(optarg) != 1 || *optarg < '1' || *optarg > '0' + MATCH_ORDERS)
                return wrong("--without is an order from 1 to 7");
            orders &= ~(1u << (*optarg - '1'));
            break;
        case OPT_SENDS:
            sends = strlen(optarg) == 1 ? *optarg - '0' : 0;
            if (sends < 3 || sends > 4)
                return wrong("--sends is 3 or 4");
            break;
        case OPT_ALL: all = true; break;
        case OPT_ANY_ORDER: any_order = true; break;
        case 'h': fputs(usage, stdout); return 0;
        default: return wrong("unknown option, or its value is missing");
        }
    }
    if (optind < argc)
        return wrong("there are no arguments but options");
    return sends > 2 ? many_sends(sends) : search(table, orders, any_order, all);
}
