/* log.h: lines for the person at the terminal. Each goes to standard error in one write, so that lines of different
 * ranks never mix, as "tern: rank R: text". The option TERN_LOG chooses how much is said.
 */
#ifndef TERN_BASE_LOG_H
#define TERN_BASE_LOG_H

enum tern_log_level { TERN_LOG_ERROR, TERN_LOG_WARN, TERN_LOG_NOTE, TERN_LOG_DEBUG };

/* Say only lines of this level and below from now on. The level at start is NOTE. */
void tern_base_log_set_level(enum tern_log_level level);

/* The rank to show; -1 (as at start): none is shown. */
void tern_base_log_set_rank(int rank);

/* Write one line, cut at 1023 bytes. Keeps errno. Safe from any thread. */
void tern_base_log(enum tern_log_level level, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

#endif
