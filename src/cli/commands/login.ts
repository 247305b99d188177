// `remora login`: asks the platform whether the token is good, and stores its URL and the token.
import { createInterface } from 'node:readline';
import { UpstreamError } from '../../client/upstream-error.ts';
import { Secret } from '../../core/secret.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { readFlagFile } from '../read-flag-file.ts';
import { writeContext } from '../target/context-file.ts';
import { askRemote } from '../target/platform-client.ts';
import { parseUrl } from '../target/target.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { text, env, out } = invocation;
  const given = text('url') ?? env.REMORA_URL;
  if (given === undefined) throw new UsageError('login: --url URL is missing');
  const url = parseUrl(given);
  const token = new Secret(process.stdin.isTTY ? await askForToken() : readFlagFile('login', '-').trim());
  if (!/^[\x21-\x7e]{1,512}$/.test(token.reveal())) throw new UsageError('login: expected one token on the input');
  await using stack = new AsyncDisposableStack();
  const name = await askRemote({ url, token }, stack, async (client) => {
    try {
      return (await client.call('readOwnOrganization')).name;
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.status !== 403) throw error;
      throw new Error('this is the token of a sprite; log in with one of an organization', { cause: error });
    }
  });
  out.line(`logged in to ${url} as ${name}; kept in ${writeContext(env, { url, token })}`);
  return exitCode.ok;
}

/** Reads a line from the terminal without showing it. */
async function askForToken(): Promise<string> {
  process.stderr.write('token: ');
  const reader = createInterface({ input: process.stdin, terminal: true });
  try {
    return await new Promise<string>((resolve) => {
      reader.once('line', (line) => resolve(line.trim()));
      reader.once('close', () => resolve(''));
    });
  } finally {
    reader.close();
    process.stderr.write('\n');
  }
}
