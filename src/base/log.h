/* log.h: messages for the user. Each line has the form "tern: rank R: text" and goes to standard error in one write, so
 * that the lines of different ranks never mix. The option TERN_LOG selects the level.
 */
#pragma once

#include <stdbool.h>

/* INFO lines report the choices at startup with their reasons, and each fallback. DEBUG lines report each connection,
 * region, thread and registration as well. */
enum tern_log_level { TERN_LOG_ERROR, TERN_LOG_WARN, TERN_LOG_NOTE, TERN_LOG_INFO, TERN_LOG_DEBUG };

/* Print only lines of this level and below from now on. The initial level is NOTE. */
void tern_base_log_set_level(enum tern_log_level level);

/* Return whether lines of this level are printed, for lines that are expensive to make. */
bool tern_base_log_shows(enum tern_log_level level);

/* Set the rank to print in each line. The initial value, -1, prints none. */
void tern_base_log_set_rank(int rank);

/* Write one line, truncated to 1023 bytes. Preserves errno. Any thread may call this. */
void tern_base_log(enum tern_log_level level, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));
