/* op_match.c: matching against two plain lists.
 *
 * Promise: an arriving message goes to the oldest posted request that matches it, and a new request takes the oldest
 * unexpected message that matches, for every mixture of wildcards, tag bits, posts, withdrawals and freed scopes;
 * nothing is lost, nothing is matched twice, and no memory leaks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job_test.h"
#include "op/match.h"

#define STEPS (JOB_SANITIZED ? 60000 : 600000)
#define REQUESTS 48
#define KEPT 4096
#define MANY 100000

/* ---- the model: two lists, and a walk along each ---- */

struct model_request {
    struct tern_match_bits real; /* bits: where the class has them */
    struct tern_match_name name;
    bool                   bound;
};

struct model {
    struct tern_match      match;
    struct model_request   request[REQUESTS];
    struct model_request  *posted[REQUESTS]; /* oldest first */
    unsigned               posts;
    struct tern_match_name kept[KEPT]; /* oldest first */
    uint64_t               bytes[KEPT];
    unsigned               keeps;
};

static bool takes(const struct model_request *r, const struct tern_match_name *name)
{
    const struct tern_match_name *wish = &r->name;
    bool                          bits = wish->class >= TERN_MATCH_BITS;
    bool any_source = bits ? wish->class == TERN_MATCH_BITS_ANY_SOURCE : wish->class & TERN_MATCH_ANY_SOURCE;
    bool tag = bits ? (name->tag & r->real.care) == (wish->tag & r->real.care)
                    : wish->class & TERN_MATCH_ANY_TAG || wish->tag == name->tag;

    return wish->scope == name->scope && tag && (any_source || wish->source == name->source);
}

static struct model_request *model_find(struct model *m, const struct tern_match_name *name)
{
    for (unsigned i = 0; i < m->posts; i++)
        if (takes(m->posted[i], name))
            return m->posted[i];
    return NULL;
}

static void model_withdraw(struct model *m, const struct model_request *request)
{
    unsigned i = 0;

    while (m->posted[i] != request)
        i++;
    m->posts--;
    memmove(&m->posted[i], &m->posted[i + 1], (m->posts - i) * sizeof(m->posted[0]));
}

/* Returns the index of the oldest unexpected message that matches a request, or keeps if there is none. */
static unsigned model_oldest(const struct model *m, const struct model_request *request)
{
    unsigned i = 0;

    while (i < m->keeps && !takes(request, &m->kept[i]))
        i++;
    return i;
}

static void model_drop(struct model *m, unsigned i)
{
    m->keeps--;
    memmove(&m->kept[i], &m->kept[i + 1], (m->keeps - i) * sizeof(m->kept[0]));
    memmove(&m->bytes[i], &m->bytes[i + 1], (m->keeps - i) * sizeof(m->bytes[0]));
}

/* ---- random programs ---- */

static uint64_t state;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((state >> 33) % n);
}

/* Few names, so that they match often, and some that differ in high bits only. */
static struct tern_match_name random_name(uint32_t class, unsigned spread)
{
    return (struct tern_match_name){ .scope = below(2) + 1,
                                     .tag = (uint64_t)below(spread) << (below(8) == 0 ? 40 : 0),
                                     .source = (int32_t)below(3),
                                     .class = class };
}

static void step_request(struct model *m, unsigned requests, uint32_t classes, unsigned spread)
{
    struct model_request *r = &m->request[below(requests)];

    if (!r->bound) {
        r->name = random_name(below(classes), spread);
        r->real.tag = r->name.tag;
        r->real.care = below(3) == 0 ? 1 : (uint64_t)below(spread) << (below(8) == 0 ? 40 : 0);
        assert_true(tern_op_match_bind_again(&m->match, &r->real.request, r->name.scope, r->name.tag, r->name.source,
                                             r->name.class) ||
                    tern_op_match_bind(&m->match, &r->real.request, r->name));
        r->bound = true;
    } else if (r->real.request.sequence > 0) {
        tern_op_match_withdraw(&m->match, &r->real.request);
        model_withdraw(m, r);
    } else if (below(4) == 0) {
        tern_op_match_unbind(&m->match, &r->real.request);
        r->bound = false;
    } else {
        struct tern_match_arrival *oldest = tern_op_match_oldest(&r->real.request);
        unsigned                   i = model_oldest(m, r);

        assert_int_equal(oldest != NULL, i < m->keeps);
        if (oldest) {
            assert_int_equal(oldest->bytes, m->bytes[i]);
            assert_int_equal(oldest->name.tag, m->kept[i].tag);
            assert_int_equal(oldest->name.source, m->kept[i].source);
            tern_op_match_drop(&m->match, oldest);
            model_drop(m, i);
        } else {
            tern_op_match_post(&m->match, &r->real.request);
            m->posted[m->posts++] = r;
        }
    }
}

static void step_arrival(struct model *m, unsigned spread, uint64_t serial)
{
    struct tern_match_name     name = random_name(0, spread);
    struct model_request      *expected = model_find(m, &name);
    struct tern_match_request *found = tern_op_match_find(&m->match, name.scope, name.tag, name.source);

    assert_ptr_equal(found, expected ? &expected->real.request : NULL);
    if (expected && below(3) > 0) { /* some requests match more than one */
        tern_op_match_withdraw(&m->match, found);
        model_withdraw(m, expected);
    } else if (!expected && m->keeps < KEPT) {
        assert_true(tern_op_match_keep(&m->match, name, serial));
        m->kept[m->keeps] = name;
        m->bytes[m->keeps++] = serial;
    }
}

static void step_forget(struct model *m)
{
    uint64_t scope = below(2) + 1;
    uint32_t gone = 0;

    for (unsigned i = 0; i < m->keeps;) {
        if (m->kept[i].scope == scope) {
            model_drop(m, i);
            gone++;
        } else {
            i++;
        }
    }
    assert_int_equal(tern_op_match_forget(&m->match, scope), gone);
}

static void run_program(unsigned requests, uint32_t classes, unsigned spread, unsigned requests_of_8)
{
    struct model *m = calloc(1, sizeof(*m));

    assert_non_null(m);
    tern_op_match_open(&m->match);
    for (uint64_t serial = 1; serial < STEPS / 12; serial++) {
        if (below(8) < requests_of_8)
            step_request(m, requests, classes, spread);
        else
            step_arrival(m, spread, serial);
        if (below(3000) == 0)
            step_forget(m);
        assert_int_equal(m->match.kept, m->keeps);
    }
    for (unsigned i = 0; i < REQUESTS; i++) {
        if (m->request[i].real.request.sequence > 0)
            tern_op_match_withdraw(&m->match, &m->request[i].real.request);
        if (m->request[i].bound)
            tern_op_match_unbind(&m->match, &m->request[i].real.request);
    }
    tern_op_match_forget(&m->match, 1);
    tern_op_match_forget(&m->match, 2);
    assert_int_equal(m->match.kept, 0);
    assert_true(m->match.queues <= 1); /* the one that is kept for reuse */
    tern_op_match_close(&m->match);
    free(m);
}

static void as_two_lists(void **unused)
{
    (void)unused;
    state = 20261115;
    for (unsigned spread = 2; spread <= 200; spread *= 10) {
        run_program(REQUESTS, 1, spread, 4);                   /* exact requests only */
        run_program(REQUESTS, TERN_MATCH_CLASSES, spread, 4);  /* all classes */
        run_program(REQUESTS, TERN_MATCH_CLASSES, spread, 6);  /* many requests are posted */
        run_program(REQUESTS, TERN_MATCH_CLASSES, spread, 2);  /* many unexpected messages are stored */
        for (unsigned requests = 1; requests <= 3; requests++) /* often one request is posted, and then two */
            run_program(requests, TERN_MATCH_CLASSES, spread, 6);
    }
}

/* A class without requests so far finds the earlier messages, in order. */
static void late_wildcard(void **unused)
{
    struct tern_match         match;
    struct tern_match_request any, exact;

    (void)unused;
    tern_op_match_open(&match);
    for (uint64_t i = 0; i < 10; i++)
        assert_true(tern_op_match_keep(&match, (struct tern_match_name){ 7, i, (int32_t)i % 2, 0 }, i));
    assert_true(tern_op_match_bind(&match, &exact, (struct tern_match_name){ 7, 0, 0, 0 }));
    tern_op_match_drop(&match, tern_op_match_oldest(&exact));
    assert_null(tern_op_match_oldest(&exact));
    assert_true(tern_op_match_bind(&match, &any, (struct tern_match_name){ 7, 99, 1, TERN_MATCH_ANY_TAG }));
    for (uint64_t i = 1; i < 10; i += 2) {
        assert_int_equal(tern_op_match_oldest(&any)->bytes, i);
        tern_op_match_drop(&match, tern_op_match_oldest(&any));
    }
    assert_null(tern_op_match_oldest(&any));
    tern_op_match_close(&match);
}

/* A hundred thousand notifications that match in the opposite order. A linear search would take five thousand million
 * steps, which exceeds the time limit of a test. */
static void a_hundred_thousand(void **unused)
{
    struct tern_match         match;
    struct tern_match_request request;

    (void)unused;
    tern_op_match_open(&match);
    for (uint64_t i = 0; i < MANY; i++)
        assert_true(tern_op_match_keep(&match, (struct tern_match_name){ 1, i, (int32_t)(i % 8), 0 }, i));
    for (uint64_t i = MANY; i-- > 0;) {
        uint32_t class = i % 2 == 0 ? 0 : TERN_MATCH_ANY_SOURCE;

        assert_true(tern_op_match_bind(&match, &request, (struct tern_match_name){ 1, i, (int32_t)(i % 8), class }));
        assert_int_equal(tern_op_match_oldest(&request)->bytes, i);
        tern_op_match_drop(&match, tern_op_match_oldest(&request));
        tern_op_match_unbind(&match, &request);
    }
    assert_int_equal(match.kept, 0);
    assert_true(match.queues <= 1);
    tern_op_match_close(&match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_two_lists),
        cmocka_unit_test(late_wildcard),
        cmocka_unit_test(a_hundred_thousand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
