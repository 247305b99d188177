// Turns the arguments of `remora curl` into those of curl: a path becomes a URL at the socket, the value of an option stays unchanged.
// Pure.

const ORIGIN = 'http://remora';
/** Short options of curl that take the next argument as their value when they are last in their cluster. */
const SHORT_WITH_VALUE = 'AbcCdDeEFHhKmoPQrtTuUwxXyYz';
/**
 * Adds `--fail-with-body`, so that an error answer is printed and curl exits with 22, unless an argument chooses otherwise
 * (`--no-fail-with-body` prints it and exits with 0).
 */
export function toCurlWords(words: readonly string[], socketPath: string): string[] {
  const fail = words.some(saysFail) ? [] : ['--fail-with-body'];
  const own = ['--silent', '--show-error', '--no-buffer', ...fail, '--unix-socket', socketPath];
  const targets = findTargets(words);
  return [...own, ...words.map((word, index) => (targets.includes(index) ? ORIGIN + word : word))];
}

/** Whether an argument chooses how curl treats error answers: curl accepts only one such option. */
function saysFail(word: string): boolean {
  if (word.startsWith('--')) return /^--(?:no-)?fail(?:-with-body)?$/.test(word);
  if (!word.startsWith('-')) return false;
  // The letters after an option with a value are that value.
  for (const letter of word.slice(1)) {
    if (letter === 'f') return true;
    if (SHORT_WITH_VALUE.includes(letter)) return false;
  }
  return false;
}

/**
 * Where the paths stand that become URLs: words that begin with a slash and are not the value of an option. Whether a long option
 * has a value is not known here; so a path after one counts when there is no other.
 */
function findTargets(words: readonly string[]): number[] {
  const paths = [...words.keys()].filter((index) => words[index]?.startsWith('/'));
  const before = (index: number) => words[index - 1] ?? '';
  const targets = paths.filter((index) => !before(index).startsWith('--') && !takesValue(before(index)));
  return targets.length > 0 ? targets : paths.filter((index) => before(index).startsWith('--')).slice(0, 1);
}

/** Whether a cluster of short options ends with one that has a value. */
function takesValue(option: string): boolean {
  return /^-[A-Za-z0-9#]+$/.test(option) && SHORT_WITH_VALUE.includes(option.slice(-1));
}
