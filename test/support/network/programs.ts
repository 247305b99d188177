// Real programs in the machine of a world, which try to reach what they are told: curl, dig, one of Node and one of Python.
import { execFile } from 'node:child_process';
import type { NetworkWorld } from '../network-world.ts';
import type { Attempt } from './attempt.ts';
import { startClient } from './line-client.ts';

export interface NetworkPrograms {
  /** What each of the programs that can do it had of it, in the order of the attempts: an address that answered, or why there was none. */
  attempt(attempts: readonly Attempt[]): Promise<Readonly<Record<string, string>>[]>;
  /** What `dig` had of each question, given as its words: data separated by commas, `empty`, an error by its name, or `no answer`. */
  dig(questions: readonly string[]): Promise<string[]>;
  /** What curl had of it, which asks for names at this address over HTTPS. */
  curlWithDoh(server: string, url: string): Promise<string>;
}

const here = (name: string) => new URL(name, import.meta.url).pathname;
const CURL = ['curl', '-s', '-m', '30', '--noproxy', '*'];
const curlOutcomes: Readonly<Record<string, string>> = { 6: 'unresolved', 7: 'reset' };
const ANSWER = /^;; (?:Got answer:|no servers could be reached)/m;

export function openNetworkPrograms(world: NetworkWorld): NetworkPrograms {
  const node = startAttempts(world, [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    here('node-client.ts'),
  ]);
  const python = startAttempts(world, ['/usr/bin/python3', '-u', here('python-client.py')]);

  function print(words: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { encoding: 'utf8', env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } } as const;
      execFile('ip', ['netns', 'exec', world.machine, ...words], options, (error, stdout) => {
        // The status of such a program is that of its last question.
        if (error !== null && typeof error.code !== 'number') reject(error);
        else resolve(stdout);
      });
    });
  }

  async function curl(attempts: readonly Attempt[]): Promise<string[]> {
    if (attempts.length === 0) return [];
    const each = attempts.map(({ host, port, family }) => [
      ...CURL.slice(1),
      ...(family === 0 ? [] : [`-${family}`]),
      ...['-w', '\\n%{exitcode}\\n', `http://${host.includes(':') ? `[${host}]` : host}:${port}/`],
    ]);
    const words = each.flatMap((some, index) => (index === 0 ? some : ['--next', ...some]));
    const text = await print(['curl', ...words]);
    const outcomes = [...text.matchAll(/^(?:(\S+)\n)?\n(\d+)$/gm)].map(([, body = '', status = '']) =>
      status === '0' ? body : (curlOutcomes[status] ?? `curl: ${status}`),
    );
    if (outcomes.length !== attempts.length) throw new Error(`curl printed ${text}`);
    return outcomes;
  }

  async function digTogether(questions: readonly string[]): Promise<string[]> {
    const each = questions.flatMap((question) => question.split(' '));
    // Where nobody is to answer it waits for all of this time.
    const limit = questions.some((question) => question.includes(' -p ')) ? 5 : 20;
    const text = await print(['dig', '+noall', '+comments', '+answer', '+tries=1', `+time=${limit}`, ...each]);
    const answers = text.split(ANSWER).slice(1);
    if (answers.length !== questions.length) throw new Error(`dig printed ${text}`);
    return answers.map(readDig);
  }

  return {
    async attempt(attempts) {
      const overTcp = attempts.filter(({ kind }) => kind === 'tcp');
      // Two clients of other kinds have no way to ask for one family, or for an echo.
      const ofNode = attempts.filter(({ kind }) => kind !== 'icmp');
      const ofPython = attempts.filter(({ family }) => family === 0);
      const [byCurl, byNode, byPython] = await Promise.all([curl(overTcp), node(ofNode), python(ofPython)]);
      const of = (name: string, own: readonly Attempt[], outcomes: readonly string[], one: Attempt) =>
        own.includes(one) ? { [name]: outcomes[own.indexOf(one)] ?? 'nothing' } : {};
      return attempts.map((one) => ({
        ...of('curl', overTcp, byCurl, one),
        ...of('node', ofNode, byNode, one),
        ...of('python', ofPython, byPython, one),
      }));
    },
    async dig(questions) {
      if (questions.length === 0) return [];
      // A port is that of all questions of one call.
      const own = questions.findIndex((question) => question.includes(' -p '));
      if (own === -1 || questions.length === 1) return await digTogether(questions);
      const parts = [questions.slice(0, own), questions.slice(own, own + 1), questions.slice(own + 1)];
      return (await Promise.all(parts.map((part) => this.dig(part)))).flat();
    },
    async curlWithDoh(server, url) {
      const words = ['-k', '--doh-insecure', '--doh-url', `https://${server}/dns-query`, '-o', '/dev/null'];
      const status = await print([...CURL, ...words, '-w', '%{exitcode}', url]);
      return curlOutcomes[status] ?? `curl: ${status}`;
    },
  };
}

/** What came of each attempt, by a program that answers each line with one. */
function startAttempts(world: NetworkWorld, words: readonly string[]) {
  const say = startClient(world, words);
  return async (attempts: readonly Attempt[]): Promise<string[]> => {
    const outcomes: string[] = [];
    for (const attempt of attempts) outcomes.push(await say(JSON.stringify(attempt)));
    return outcomes;
  };
}

function readDig(answer: string): string {
  const rcode = /status: (\w+)/.exec(answer)?.[1] ?? 'no answer';
  if (rcode !== 'NOERROR') return rcode;
  const data = [...answer.matchAll(/^[^;\s]\S*\t+\d+\t+IN\t+\S+\t+(.*)$/gm)].map(([, text = '']) => text);
  return data.length === 0 ? 'empty' : data.join();
}
