#!/usr/bin/env python3
"""terminal.py: runs a command on a real terminal, and does what a script says.

usage: terminal.py [-r ROWS -c COLUMNS] COMMAND... < STEPS

The command is the leader of a session whose controlling terminal is a new pseudo-terminal. STEPS are lines:

    wait REGEX      wait until the output since the last match has a match; fails after 30 seconds
    saw REGEX       wait until the output since the start has a match
    type TEXT       type the text; \\r is return, ^C is control-C, ^Z is control-Z
    return REGEX    type return every second until the output since the last match has a match. A shell tells of its
                    jobs before a prompt, and the first prompt may be too early
    size ROWS COLS  change the size of the terminal
    run COMMAND     run a shell command, outside the terminal; fails if that fails
    until COMMAND   run a shell command until it succeeds; fails after 30 seconds
    end             wait until the session leader has ended, and print its status

The output of the terminal is printed in any case. The exit status is 0 if all steps succeeded.
"""
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time

LIMIT = 30
seen = ""
everything = ""


def read_some(fd, seconds):
    """Read what the terminal shows. Returns False at its end."""
    global seen, everything
    if not select.select([fd], [], [], seconds)[0]:
        return True
    try:
        data = os.read(fd, 65536)
    except OSError:
        return False
    text = data.decode(errors="replace").replace("\r\n", "\n")
    seen += text
    everything += text
    return bool(data)


def fail(why):
    print(everything)
    print("terminal: " + why)
    sys.exit(1)


def wait_for(fd, pattern, from_start=False, types_return=False):
    global seen
    now = time.monotonic()
    until, next_return = now + LIMIT, now if types_return else now + 2 * LIMIT
    while True:
        if time.monotonic() >= next_return:
            os.write(fd, b"\r")
            next_return += 1
        match = re.search(pattern, everything if from_start else seen, re.M)
        if match and from_start:
            return
        if match:
            seen = seen[match.end():]
            return
        if time.monotonic() > until:
            fail("no output matches " + pattern)
        read_some(fd, 0.1)


def succeed(fd, command):
    until = time.monotonic() + LIMIT
    while subprocess.call(command, shell=True) != 0:
        if time.monotonic() > until:
            fail("does not succeed: " + command)
        read_some(fd, 0.05)


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main():
    words = sys.argv[1:]
    rows, columns = 24, 80
    while words[0] in ("-r", "-c"):
        if words[0] == "-r":
            rows = int(words[1])
        else:
            columns = int(words[1])
        words = words[2:]
    steps = sys.stdin.read().splitlines()
    pid, fd = pty.fork()
    if pid == 0:
        resize(0, rows, columns)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(words[0], words)
    for step in steps:
        word, _, rest = step.strip().partition(" ")
        if word == "wait":
            wait_for(fd, rest)
        elif word == "saw":
            wait_for(fd, rest, from_start=True)
        elif word == "return":
            wait_for(fd, rest, types_return=True)
        elif word == "type":
            text = re.sub(r"\^([A-Z\\\\])", lambda m: chr(ord(m.group(1)) & 31), rest).replace("\\r", "\r")
            os.write(fd, text.encode())
        elif word == "size":
            resize(fd, *map(int, rest.split()))
        elif word == "run":
            if subprocess.call(rest, shell=True) != 0:
                fail("failed: " + rest)
        elif word == "until":
            succeed(fd, rest)
        elif word == "end":
            until = time.monotonic() + LIMIT
            while read_some(fd, 0.1):
                if time.monotonic() > until:
                    fail("the command does not end")
            status = os.waitpid(pid, 0)[1]
            print("terminal: status", os.waitstatus_to_exitcode(status))
        elif word and word[0] != "#":
            fail("no such step: " + word)
    print(everything)


main()
