/* agent.c: the command that reaches a host, as ternrun would use it, and what its messages mean. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "doctor.h"

bool doctor_uses_shell(const char *agent)
{
    size_t      len = strcspn(agent, " \t");
    const char *name = agent + len;

    while (name > agent && name[-1] != '/')
        name--;
    len -= (size_t)(name - agent);
    return len == 3 && (strncmp(name, "ssh", 3) == 0 || strncmp(name, "rsh", 3) == 0);
}

/* Write the path so that a shell reads it as one word. out must hold four bytes for each byte of path, and three
 * more. */
static void quote_path(const char *path, char *out)
{
    *out++ = '\'';
    for (; *path != '\0'; path++) {
        if (*path == '\'') {
            *out++ = '\''; /* leave the quotes, write a quoted quote, and enter the quotes again */
            *out++ = '\\';
            *out++ = '\'';
        }
        *out++ = *path;
    }
    *out++ = '\'';
    *out = '\0';
}

bool doctor_command(struct doctor_command *command, const char *agent, const char *host, const char *option)
{
    char    path[PATH_MAX], *rest = NULL;
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    int     count = 0;

    path[len > 0 ? len : 0] = '\0';
    if ((size_t)snprintf(command->words, sizeof(command->words), "%s", agent) >= sizeof(command->words))
        return false;
    snprintf(command->name, sizeof(command->name), "%s", host);
    for (char *word = strtok_r(command->words, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        if (count == DOCTOR_WORDS)
            return false;
        command->word[count++] = word;
    }
    if (count == 0)
        return false;
    if (doctor_uses_shell(agent))
        quote_path(path, command->path);
    else
        snprintf(command->path, sizeof(command->path), "%s", path);
    command->word[count++] = command->name;
    command->word[count++] = command->path;
    command->word[count++] = (char *)(uintptr_t)option;
    command->word[count] = NULL;
    return true;
}

bool doctor_asks(const char *text)
{
    return strcasestr(text, "password:") != NULL || strcasestr(text, "passphrase for") != NULL ||
           strcasestr(text, "(yes/no") != NULL || strcasestr(text, "passcode") != NULL ||
           strcasestr(text, "verification code") != NULL;
}

const char *doctor_remedy(const char *text)
{
    static const struct {
        const char *word, *remedy;
    } table[] = {
        { INFO_CANNOT_START,
          "Install the agent, or name another command with --agent: its first word is a program that the "
          "calling machine has." },
        { "(yes/no", "Log in once by hand to confirm the key of the host, or add it to ~/.ssh/known_hosts with "
                     "ssh-keyscan." },
        { "host key verification", "Log in once by hand to confirm the key of the host, or add it to "
                                   "~/.ssh/known_hosts with ssh-keyscan." },
        { "password:", "Let a key log in without a password: ssh-keygen, then ssh-copy-id HOST." },
        { "passphrase", "Load the key into an ssh-agent (ssh-add), or use a key without a passphrase." },
        { "permission denied", "Let a key log in without a password: ssh-keygen, then ssh-copy-id HOST." },
        { "resolve hostname", "Enter the name of the host in DNS or in /etc/hosts of every host." },
        { "connection refused", "Start sshd on the host, or name another agent with --agent." },
        { "no route to host", "Switch on the host, or correct the network." },
        { "timed out", "Switch on the host, or permit ssh (TCP port 22) in its firewall." },
        { "no such file", "Install Tern on every host in the same directory as here." },
        { "not found", "Install Tern on every host in the same directory as here." },
        { "libtern", "Install Tern completely: tern-info finds no libtern there." },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcasestr(text, table[i].word) != NULL)
            return table[i].remedy;
    return "Run the agent by hand to see why: AGENT HOST tern-info --version.";
}
