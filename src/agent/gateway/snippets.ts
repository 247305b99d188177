// Lines that call a URL over the Unix socket, to be pasted: for a shell, for Python with httpx, for Node with undici. Pure.

export interface Snippets {
  readonly curl: string;
  readonly python: string;
  readonly node: string;
}

export function toSnippets(socket: string, url: string): Snippets {
  const path = JSON.stringify(socket);
  const target = JSON.stringify(url);
  return {
    curl: `curl --unix-socket ${toShellWord(socket)} ${quote(url)}`,
    python: [
      'import httpx',
      `client = httpx.Client(transport=httpx.HTTPTransport(uds=${path}), timeout=None)`,
      `print(client.get(${target}).text)`,
    ].join('\n'),
    node: [
      "import { Agent, fetch } from 'undici'",
      `const dispatcher = new Agent({ connect: { socketPath: ${path} } })`,
      `console.log(await (await fetch(${target}, { dispatcher })).text())`,
    ].join('\n'),
  };
}

function toShellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : quote(text);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
