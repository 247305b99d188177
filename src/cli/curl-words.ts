// Turns the arguments of `remora curl` into those of curl: a path becomes a URL at the socket, the value of an option stays unchanged.
// Pure.

const ORIGIN = 'http://remora';
/** Short options of curl that take the next argument as their value when they are last in their cluster. */
const SHORT_WITH_VALUE = 'AbcCdDeEFHhKmoPQrtTuUwxXyYz';
/** Long options of curl whose value may begin with a slash: files and text. */
const LONG_WITH_VALUE = new Set([
  '--cacert',
  '--capath',
  '--cert',
  '--config',
  '--cookie',
  '--cookie-jar',
  '--data',
  '--data-ascii',
  '--data-binary',
  '--data-raw',
  '--data-urlencode',
  '--dump-header',
  '--etag-compare',
  '--etag-save',
  '--form',
  '--form-string',
  '--header',
  '--json',
  '--key',
  '--netrc-file',
  '--output',
  '--output-dir',
  '--referer',
  '--request',
  '--request-target',
  '--stderr',
  '--trace',
  '--trace-ascii',
  '--unix-socket',
  '--upload-file',
  '--url-query',
  '--write-out',
]);

/**
 * Adds `--fail-with-body`, so that an error answer is printed and curl exits with 22, unless an argument chooses otherwise
 * (`--no-fail-with-body` prints it and exits with 0).
 */
export function toCurlWords(words: readonly string[], socketPath: string): string[] {
  const fail = words.some(saysFail) ? [] : ['--fail-with-body'];
  const own = ['--silent', '--show-error', '--no-buffer', ...fail, '--unix-socket', socketPath];
  return [...own, ...words.map((word, index) => (isTarget(word, words[index - 1]) ? ORIGIN + word : word))];
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

function isTarget(word: string, before: string | undefined): boolean {
  return word.startsWith('/') && (before === undefined || !takesValue(before));
}

function takesValue(option: string): boolean {
  if (option.startsWith('--')) return LONG_WITH_VALUE.has(option);
  return /^-[A-Za-z0-9#]+$/.test(option) && SHORT_WITH_VALUE.includes(option.slice(-1));
}
