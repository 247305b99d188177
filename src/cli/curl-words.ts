// From the words after `remora curl` to those of curl: a path becomes a URL of the socket, the value of an option stays what
// it is. Pure.

const ORIGIN = 'http://remora';
/** Short options of curl that take a value as the next word, when they stand last in their cluster. */
const SHORT_WITH_VALUE = 'AbcCdDeEFHhKmoPQrtTuUwxXyYz';
/** Long options that take a value which can begin with a slash: files and text. */
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

export function toCurlWords(words: readonly string[], socketPath: string): string[] {
  const own = ['--silent', '--show-error', '--no-buffer', '--unix-socket', socketPath];
  return [...own, ...words.map((word, index) => (isTarget(word, words[index - 1]) ? ORIGIN + word : word))];
}

function isTarget(word: string, before: string | undefined): boolean {
  return word.startsWith('/') && (before === undefined || !takesValue(before));
}

function takesValue(option: string): boolean {
  if (option.startsWith('--')) return LONG_WITH_VALUE.has(option);
  return /^-[A-Za-z0-9#]+$/.test(option) && SHORT_WITH_VALUE.includes(option.slice(-1));
}
