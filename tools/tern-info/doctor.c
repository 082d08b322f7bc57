/* doctor.c: tern-info --doctor: checks this machine, or the hosts of a list, prints what is in order and what is not,
 * and what to do about it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "doctor.h"

#define MANY 4 /* if there are more hosts, the report has few lines for each */

static const char *const level_name[] = { "ok", "note", "fault" };
static const char *const level_word[] = { "OK", "NOTE", "FAULT" };

void doctor_find(struct doctor_list *list, int host, enum doctor_level level, const char *check, const char *remedy,
                 const char *format, ...)
{
    struct doctor_finding *finding;
    va_list                args;

    if (list->count == list->room) {
        size_t                 room = list->room > 0 ? 2 * list->room : 64;
        struct doctor_finding *items = realloc(list->items, room * sizeof(*items));

        if (items == NULL) {
            fprintf(stderr, "tern-info: not enough memory\n");
            exit(1);
        }
        list->items = items;
        list->room = room;
    }
    finding = &list->items[list->count++];
    finding->level = level;
    finding->host = host;
    snprintf(finding->check, sizeof(finding->check), "%s", check);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
    va_start(args, format);
    vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
}

/* ---- printing ---- */

static void print_finding(const struct doctor_finding *finding, const char *host)
{
    const struct info_field fields[] = { { "host", host },
                                         { "check", finding->check },
                                         { "result", level_name[finding->level] },
                                         { "text", finding->text },
                                         { "remedy", finding->remedy[0] != '\0' ? finding->remedy : NULL } };
    char                    text[1200];

    snprintf(text, sizeof(text), "%-5s  %s: %s%s%s", level_word[finding->level], finding->check, finding->text,
             finding->remedy[0] != '\0' ? "\n         what to do: " : "", finding->remedy);
    info_item(text, fields, 5);
}

/* Print the checks of a host that are in order, in one line. */
static void print_fine(const struct doctor *d, int host)
{
    char   text[1200];
    size_t at = (size_t)snprintf(text, sizeof(text), "OK     In order:");
    bool   any = false;

    for (size_t i = 0; i < d->list.count && at < sizeof(text); i++) {
        if (d->list.items[i].host != host || d->list.items[i].level != DOCTOR_OK)
            continue;
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %s", any ? "," : "", d->list.items[i].check);
        any = true;
    }
    if (any)
        info_item(text, NULL, 0);
}

/* Print the findings of one host, or with -1 those of all hosts together: faults first. For people, the checks of many
 * hosts that are in order take one line for each host. */
static void print_group(const struct doctor *d, int host, const char *title)
{
    bool titled = info_is_json(), is_short = !info_is_json() && host >= 0 && d->hosts.count > MANY;

    for (int level = DOCTOR_FAULT; level >= DOCTOR_OK; level--) {
        for (size_t i = 0; i < d->list.count; i++) {
            const struct doctor_finding *finding = &d->list.items[i];

            if (finding->host != host || (int)finding->level != level)
                continue;
            if (!titled)
                printf("%s\n", title);
            titled = true;
            if (level == DOCTOR_OK && is_short) {
                print_fine(d, host);
                return;
            }
            print_finding(finding, host >= 0 && d->hosts.count > 0 ? d->hosts.host[host].name : NULL);
        }
    }
}

/* Print all findings and a summary. Returns the exit status. */
static int print_all(const struct doctor *d, bool json)
{
    char title[DOCTOR_NAME + 16];
    int  count[3] = { 0 };

    for (size_t i = 0; i < d->list.count; i++)
        count[d->list.items[i].level]++;
    info_begin(json);
    if (json)
        info_list("findings", "");
    if (d->hosts.count == 0)
        print_group(d, 0, "This machine");
    for (int i = 0; i < d->hosts.count; i++) {
        snprintf(title, sizeof(title), "Host %s", d->hosts.host[i].name);
        print_group(d, i, title);
    }
    print_group(d, -1, "All hosts");
    if (json) {
        info_list_end();
        info_section("summary", "");
        info_number("ok", "", (uint64_t)count[DOCTOR_OK], "");
        info_number("notes", "", (uint64_t)count[DOCTOR_NOTE], "");
        info_number("faults", "", (uint64_t)count[DOCTOR_FAULT], "");
        info_section_end();
    } else {
        printf("\n%d check%s in order, %d note%s, %d fault%s.\n", count[DOCTOR_OK],
               count[DOCTOR_OK] == 1 ? " is" : "s are", count[DOCTOR_NOTE], count[DOCTOR_NOTE] == 1 ? "" : "s",
               count[DOCTOR_FAULT], count[DOCTOR_FAULT] == 1 ? "" : "s");
    }
    info_end();
    return count[DOCTOR_FAULT] > 0 ? 1 : 0;
}

/* ---- hosts ---- */

/* Ask the hosts that have answered for their facts. */
static void ask_facts(struct doctor *d)
{
    int all = 0;

    for (int i = 0; i < d->hosts.count; i++)
        all += d->hosts.host[i].ranks;
    for (int i = 0; i < d->hosts.count; i++) {
        struct doctor_host *host = &d->hosts.host[i];

        for (char **entry = environ; *entry != NULL; entry++)
            if ((strncmp(*entry, "TERN_", 5) == 0 && strncmp(*entry, "TERN_BOOT=", 10) != 0) ||
                strncmp(*entry, "FI_", 3) == 0)
                doctor_ask(host, "set %s", *entry);
        host->asked_at = tern_base_now();
        doctor_ask(host, "facts %d %d %.1f", host->ranks, all, d->seconds);
        host->is_waiting = !host->is_failed;
    }
    doctor_listen(d, d->seconds + 5);
}

/* Ask for the version of each host on which tern-info ended at once: an older version does not know --doctor-node. */
static void ask_versions(struct doctor *d)
{
    struct info_task      *tasks = calloc((size_t)d->hosts.count, sizeof(*tasks));
    struct doctor_command *commands = calloc((size_t)d->hosts.count, sizeof(*commands));
    int                   *index = calloc((size_t)d->hosts.count, sizeof(*index));
    size_t                 count = 0;

    for (int i = 0; i < d->hosts.count && tasks != NULL && commands != NULL && index != NULL; i++) {
        if (!d->hosts.host[i].is_failed || strncmp(d->hosts.host[i].why, "The agent ended", 15) != 0 ||
            !doctor_command(&commands[count], d->agent, d->hosts.host[i].name, "--version"))
            continue;
        index[count] = i;
        tasks[count].argv = commands[count].word;
        count++;
    }
    if (count > 0)
        info_tasks_run(tasks, count, d->seconds, false);
    for (size_t i = 0; i < count; i++) {
        char version[32];

        if (tasks[i].status == 0 && sscanf(tasks[i].text, "tern-info %31s", version) == 1 &&
            strcmp(version, tern_version()) != 0)
            snprintf(d->hosts.host[index[i]].why, sizeof(d->hosts.host[0].why), "It has Tern %s and this is %s",
                     version, tern_version());
    }
    free(tasks);
    free(commands);
    free(index);
}

/* Report the hosts that could not be checked. */
static void report_failed(struct doctor *d)
{
    for (int i = 0; i < d->hosts.count; i++) {
        const struct doctor_host *host = &d->hosts.host[i];

        if (!host->is_failed)
            doctor_find(&d->list, i, DOCTOR_OK, "reached", "", "The agent reaches it, and it has Tern %s.",
                        host->facts.version);
        else if (strncmp(host->why, "It has Tern", 11) == 0)
            doctor_find(&d->list, i, DOCTOR_FAULT, "version", "Install the same version of Tern on every host.", "%s.",
                        host->why);
        else if (strncmp(host->why, "Its shell", 9) == 0)
            doctor_find(&d->list, i, DOCTOR_FAULT, "shell", "", "%s.", host->why);
        else
            doctor_find(&d->list, i, DOCTOR_FAULT, "reached", doctor_remedy(host->why), "%s.", host->why);
    }
}

static void check_hosts(struct doctor *d)
{
    size_t pairs = (size_t)d->hosts.count * (size_t)d->hosts.count;

    for (int kind = 0; kind < 3; kind++) {
        d->result[kind] = calloc(pairs, sizeof(*d->result[kind]));
        if (d->result[kind] == NULL) {
            fprintf(stderr, "tern-info: not enough memory\n");
            exit(1);
        }
    }
    doctor_call_all(d);
    ask_versions(d);
    ask_facts(d);
    doctor_between(d);
    doctor_end_all(d);
    report_failed(d);
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < pairs; i++)
            free(d->result[kind][i]);
        free(d->result[kind]);
    }
}

int doctor_run(const char *hosts, const char *agent, double seconds, bool json)
{
    struct doctor d = { .agent = agent, .seconds = seconds, .hosts = { .source = "--hosts" } };
    char          why[300] = "", ssh[100];
    int           status;

    if (hosts != NULL ? !doctor_hosts_read(&d.hosts, hosts, why, sizeof(why))
                      : !doctor_hosts_scheduled(&d.hosts, why, sizeof(why))) {
        fprintf(stderr, "tern-info: %s%s%s\n", hosts != NULL ? "--hosts: " : "", why,
                hosts != NULL ? "; see tern-info --help" : "; name the hosts with --hosts");
        free(d.hosts.host);
        return 2;
    }
    snprintf(ssh, sizeof(ssh), "ssh -T -o BatchMode=yes -o ConnectTimeout=%d", (int)seconds > 1 ? (int)seconds : 1);
    if (agent == NULL)
        d.agent = ssh;
    if (d.hosts.is_here)
        d.hosts.count = 0;
    if (hosts == NULL && d.hosts.count > 0 && !json)
        printf("The hosts are those of %s.\n\n", d.hosts.source);
    doctor_options(&d.list, d.hosts.count > 0 ? -1 : 0);
    if (d.hosts.count == 0) {
        struct doctor_job   job = { .seconds = seconds };
        struct doctor_facts facts;

        doctor_facts_collect(&facts, seconds, false);
        doctor_machine(&d.list, &job, &facts);
    } else {
        check_hosts(&d);
    }
    status = print_all(&d, json);
    free(d.list.items);
    free(d.hosts.host);
    return status;
}
