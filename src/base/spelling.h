/* spelling.h: how near two words are, to suggest the right name for a misspelt one. */
#pragma once

#include <stddef.h>

/* Return the number of letters to insert, delete or replace to make word of text (Levenshtein), whether capital or
 * not; SIZE_MAX if that are so many that word is no plausible correction of text. */
size_t tern_base_spelling_edits(const char *text, const char *word);
