/* spelling.c: the edit distance between two words, which is computed row by row with only one row in memory. */
#include "base/spelling.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WORD_MAX_LEN 63 /* a longer word resembles no known word */
#define SUGGEST_MAX 4   /* maximum number of edits; with more, a suggestion would be a guess */

static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX_LEN + 1], len = strlen(b);

    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t corner = row[0]; /* the value at (i - 1, j - 1) */

        row[0] = i;
        for (size_t j = 1; j <= len; j++) {
            bool   same = toupper((unsigned char)a[i - 1]) == toupper((unsigned char)b[j - 1]);
            size_t replaced = corner + !same, shifted = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

            corner = row[j];
            row[j] = replaced < shifted ? replaced : shifted;
        }
    }
    return row[len];
}

size_t tern_base_spelling_edits(const char *text, const char *word)
{
    size_t edits;

    if (strlen(text) > WORD_MAX_LEN || strlen(word) > WORD_MAX_LEN)
        return SIZE_MAX;
    edits = distance(text, word);
    return edits <= SUGGEST_MAX && edits <= (strlen(word) + 1) / 2 ? edits : SIZE_MAX;
}
