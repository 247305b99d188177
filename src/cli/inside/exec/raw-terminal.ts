// The terminal of this command while a terminal elsewhere is shown in it: every key and every byte passes as it is.
import { spawnSync } from 'node:child_process';
import type { ReadStream } from 'node:tty';

/** `input` is standard input. Disposing of it makes the terminal as it was. So does any exit of this process, which Node sees to. */
export function openRawTerminal(input: ReadStream): Disposable {
  input.setRawMode(true);
  // Node leaves a carriage return before each line feed to the terminal; the far end has put one there already, and editors send
  // line feeds that must not have one.
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
  return {
    [Symbol.dispose]() {
      input.setRawMode(false);
    },
  };
}
