"""Runs a program on a terminal of its own, makes that terminal narrower, and ends the program.

    terminal.py COLUMNS NARROW_COLUMNS END PROGRAM [ARGUMENT]…

END is `ctrl-c`, which is typed, or `term`, which is sent as a signal. Prints as JSON what the
program wrote before and after the terminal became narrow, and after it was asked to end, and how it
ended. Exit code 1 where the program does not do in time what is waited for.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

HOME = b"\x1b[H"
ROWS = 24
DEADLINE = 60


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))


class Program:
    def __init__(self, columns, arguments):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            # The child's own end, before it asks for its size.
            resize(0, columns)
            os.environ["TERM"] = "xterm"
            os.execv(arguments[0], arguments)

    def read(self, is_enough, deadline=DEADLINE):
        """What is written until it is enough, or the program has closed its terminal."""
        written = b""
        end = time.monotonic() + deadline
        while not is_enough(written):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                sys.exit(f"nothing more within {deadline} s, after {written!r}")
            try:
                piece = os.read(self.terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            written += piece
        return written


def main():
    columns, narrow, end = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    program = Program(columns, sys.argv[4:])
    try:
        wide = program.read(lambda written: written.count(HOME) >= 4)
        resize(program.terminal, narrow)
        # The frame that is under way may still be wide.
        narrowed = program.read(lambda written: written.count(HOME) >= 4)
        if end == "ctrl-c":
            os.write(program.terminal, b"\x03")
        else:
            os.kill(program.pid, signal.SIGTERM)
        rest = program.read(lambda written: False)
        status = os.waitstatus_to_exitcode(os.waitpid(program.pid, 0)[1])
    except BaseException:
        os.kill(program.pid, signal.SIGKILL)
        raise
    text = {"wide": wide, "narrow": narrowed, "rest": rest}
    print(json.dumps({name: value.decode() for name, value in text.items()} | {"status": status}))


main()
