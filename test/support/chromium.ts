// A real browser: the Chromium of Debian, one for each test file, with a context of its own for each person.
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { atEnd, openOnce } from './at-end.ts';
import { loudly } from './loudly.ts';

const PATH = '/usr/bin/chromium';
/** How long a click or a look at a page may take, on a machine with other work. */
const LIMIT_MS = 60_000;

/** Says for `describe.skipIf` when there is no browser here. */
export const isWithoutChromium = () =>
  loudly(
    !existsSync(PATH),
    'Chromium is not installed (Debian: apt-get install chromium); nothing is seen in a browser',
  );

/** Call it at the top of a file. The result opens a context that nobody has used, until the end of the test. */
export function openChromiumOnce(): (options?: BrowserContextOptions) => Promise<BrowserContext> {
  const opened = openOnce(async () => (existsSync(PATH) ? await launch() : undefined));
  return async (options) => {
    const browser = opened();
    if (browser === undefined) throw new Error('Chromium is not installed');
    const context = await browser.newContext(options);
    context.setDefaultTimeout(LIMIT_MS);
    onTestFinished(() => context.close());
    return context;
  };
}

async function launch(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: PATH,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    timeout: LIMIT_MS,
  });
  atEnd(() => browser.close());
  return browser;
}
