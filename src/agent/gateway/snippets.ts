// Lines that call a path over the Unix socket, to paste into a shell, into Python, or into Node as a script, a module or at its
// prompt. They need no package; the shell line needs curl. Pure.
import { toQuotedWord, toShellWord } from '../../core/shell-word.ts';

export interface Snippets {
  readonly curl: string;
  readonly python: string;
  readonly node: string;
}

/** `url` is plain HTTP. What follows its host is kept byte for byte. */
export function toSnippets(socket: string, url: string): Snippets {
  const [, host = '', target = '/'] = /^http:\/\/([^/]+)(\/.*)$/.exec(url) ?? [];
  const [address, path] = [JSON.stringify(socket), JSON.stringify(target)];
  const literally = /[[\]{}]/.test(url) ? '--globoff ' : '';
  return {
    curl: `curl ${literally}--unix-socket ${toShellWord(socket)} ${toQuotedWord(url)}`,
    python: [
      'import http.client, socket',
      `call = http.client.HTTPConnection("${host}")`,
      'call.sock = socket.socket(socket.AF_UNIX)',
      `call.sock.connect(${address})`,
      `call.request("GET", ${path})`,
      'print(call.getresponse().read().decode())',
    ].join('\n'),
    node: [
      `const call = { socketPath: ${address}, path: ${path} }`,
      "import('node:http').then(({ get }) => get(call, (answer) => answer.pipe(process.stdout)))",
    ].join('\n'),
  };
}
