/* spelling.h: the similarity of two words, to suggest the right name for a misspelt one. */
#pragma once

#include <stddef.h>

/* Return the number of letters that must be inserted, deleted or replaced to turn text into word (the Levenshtein
 * distance), ignoring case; SIZE_MAX if this number is so large that word is not a plausible correction of text. */
size_t tern_base_spelling_edits(const char *text, const char *word);
